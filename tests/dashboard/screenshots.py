"""Pictures of the pages for the documentation: ``python tests/dashboard/screenshots.py docs/images``."""

import io
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from brigand.service import keys
from dashboard import shop
from service.process import Process

CHROMIUM = "/usr/bin/chromium"
WIDTH = 1280
NAME = quote("buy button")
SEGMENT = quote('banner/["de", "phone"]')
PAGES = {
    "list": ("/", 620),
    "bandit": (f"/bandit?name={NAME}", 1250),
    "segments": (f"/bandit?name={SEGMENT}", 1170),
    "why": (f"/bandit/why?name={NAME}", 700),
    "change": (f"/bandit/change?name={NAME}&action=end&arm=%22Get+it+today%22&note=clear+enough", 480),
}


def save(page, path):
    """Keep a picture of what is seen, in 128 colours."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder):
    with tempfile.TemporaryDirectory() as place:
        store = f"{place}/shop.db"
        shop.make(store)
        key = keys.create(store, "admin")
        with Process(store, f"{place}/log") as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM)
            for scheme in ("light", "dark"):
                context = browser.new_context(viewport={"width": WIDTH, "height": 480}, color_scheme=scheme)
                page = context.new_page()
                page.goto(f"{server.url}/sign-in")
                save(page, folder / f"dashboard-sign-in-{scheme}.png")
                page.fill("#key", key)
                page.click("#sign-in")
                for name, (path, height) in PAGES.items():
                    page.set_viewport_size({"width": WIDTH, "height": height})
                    page.goto(server.url + path)
                    page.wait_for_selector("[data-counting]", state="detached")
                    save(page, folder / f"dashboard-{name}-{scheme}.png")
                context.close()
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
