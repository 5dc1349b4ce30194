"""A visitor of the pages, without a browser."""

import html
import re
from urllib.parse import quote, urlencode

FIELD = re.compile(r'name="token" value="([^"]+)"')


def to(place, name, **more):
    """Return a link to a page of a bandit."""
    return f"/bandit{place}?{urlencode({'name': name, **more})}"


class Person:
    """Somebody with a browser: keeps a cookie, sends forms."""

    def __init__(self, served, key=None):
        self.served, self.cookie = served, None
        if key is not None:
            self.signed_in = self.sign_in(key)

    def __call__(self, method, path, headers=(), **options):
        self.served.client.cookies.clear()
        cookie = {} if self.cookie is None else {"Cookie": self.cookie}
        return self.served(method, path, key=None, headers={**cookie, **dict(headers)}, **options)

    def get(self, path, **headers):
        return self("GET", path, headers)

    def post(self, path, form, **headers):
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self("POST", path, {**kind, **headers}, content=urlencode(form))

    def sign_in(self, key, to="/", **headers):
        answer = self.post("/sign-in", {"key": key, "next": to}, **headers)
        if answer.status_code == 303:
            self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def token(self, path):
        """Return the token of a form on a page."""
        return html.unescape(FIELD.search(self.get(path).text)[1])

    def change(self, name, action, arm="", note="", **headers):
        """Ask for something, and confirm it."""
        again = to("/change", name, action=action, arm=arm, note=note)
        form = {"name": name, "action": action, "arm": arm, "note": note, "token": self.token(again)}
        return self.post("/bandit/change", form, **headers)


def shown(name):
    """Return a name as a page has it."""
    return html.escape(name).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def percent(text):
    return quote(text, safe="")
