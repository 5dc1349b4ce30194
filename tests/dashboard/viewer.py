"""Somebody with a browser, of whom all is noted that should not be: errors, and requests to elsewhere."""

from urllib.parse import urlsplit

from dashboard.people import to


class Viewer:
    """A window; at its end, the console must have been silent and no request have left the host."""

    def __init__(self, browser, url, width=1280, height=900, scheme="light", silent=True, **options):
        self.url, self.silent = url, silent
        self._browser = browser
        self._options = {
            "viewport": {"width": width, "height": height},
            "color_scheme": scheme,
            "accept_downloads": True,
            "base_url": url,
            **options,
        }

    def __enter__(self):
        self.context = self._browser.new_context(**self._options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.said, self.elsewhere = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.context.on("request", self._note)
        return self

    def _note(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(self.url).netloc:
            self.elsewhere.append(request.url)

    def __exit__(self, kind, error, trace):
        self.context.close()
        if kind is None:
            assert self.elsewhere == [], self.elsewhere
            if self.silent:
                assert self.said == [], self.said

    def go(self, path):
        self.page.goto(self.url + path)
        return self.page

    def bandit(self, name, place=""):
        return self.go(to(place, name))

    def sign_in(self, key):
        page = self.go("/sign-in")
        page.fill("#key", key)
        page.click("#sign-in")
        page.wait_for_url(f"{self.url}/")
        return page

    def tab_to(self, selector, most=80):
        """Press Tab until something has the focus."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"{selector} is not reached by Tab")
