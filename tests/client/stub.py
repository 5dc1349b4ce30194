"""A service of a few lines that the client is tested against, over HTTP or without a network.

It does what `brigand serve` promises: a request that comes again under the same name gets the same answer and
does nothing. And it fails, as often as is asked of it.
"""

import contextlib
import http.server
import json
import random
import socket
import threading
import time
import urllib.parse

import httpx

KEY = "a-key-of-the-tests"
DROPPED, LOST, AWAY, TWICE, SLOW = "dropped", "lost", "away", "twice", "slow"


def problem(status, title, detail):
    return status, {"type": "about:blank", "title": title, "status": status, "detail": detail}


class Service:
    """Bandits that choose their arms in turn.

    Parameters
    ----------
    faults : callable, optional
        Returns what goes wrong with the next request, None if nothing does: its connection is dropped before
        anything is done or lost before it is answered, the service is away, the request comes twice, or is
        slow.
    """

    key = KEY

    def __init__(self, faults=lambda: None):
        self.faults = faults
        self.lock = threading.Lock()
        self.bandits = {}
        self.decisions, self.tells = {}, {}
        self.rewards = {}
        self.requests = []

    def handle(self, method, target, headers, body):
        """Return the status and the JSON of an answer."""
        path = urllib.parse.urlsplit(target).path
        names = [urllib.parse.unquote(name) for name in path.split("/")[3:]]
        given = json.loads(body) if body else {}
        with self.lock:
            self.requests.append((method, target, dict(headers), given))
            if headers.get("authorization") != f"Bearer {KEY}":
                return problem(401, "Unauthorized", "no key, or a wrong one.")
            if not names and method == "POST":
                self.bandits[given["name"]] = given["arms"]
                return 201, {"name": given["name"]}
            if names[0] not in self.bandits:
                return problem(404, "unknown name", f"unknown bandit {names[0]!r}.")
            return getattr(self, names[1])(self.bandits[names[0]], given)

    def ask(self, arms, given):
        request = given["request"]
        if request not in self.decisions:
            step = len(self.decisions) + 1
            self.decisions[request] = {
                "id": f"{step}-d",
                "step": step,
                "arm": arms[step % len(arms)],
                "explored": False,
                "propensity": 1,
                "holdout": False,
                "again": False,
                "reason": f"greedy: it is the turn of {arms[step % len(arms)]}",
                "data": {},
            }
            self.rewards[f"{step}-d"] = []
        return 200, self.decisions[request]

    def tell(self, arms, given):
        if given["id"] not in self.rewards:
            return problem(404, "unknown decision", "it has not made that decision.")
        if given["reward"] < 0:
            return problem(422, "value not allowed", "rewards are not negative.")
        if given["request"] in self.tells:
            return 200, {"told": "repeated"}
        self.tells[given["request"]] = given
        self.rewards[given["id"]].append(given["reward"])
        return 200, {"told": "added"}

    def transport(self):
        """Return what a client sends its requests to without a network."""

        def handler(request):
            fault = self.faults()
            if fault == DROPPED:
                raise httpx.ConnectError("nobody is there")
            if fault == AWAY:
                return httpx.Response(503, json={"title": "away"}, headers={"Retry-After": "0"})
            for _ in range(1 + (fault == TWICE)):
                status, answer = self.handle(
                    request.method, request.url.raw_path.decode(), request.headers, request.content
                )
            if fault == LOST:
                raise httpx.ReadError("the connection was lost")
            return httpx.Response(status, json=answer)

        return httpx.MockTransport(handler)

    @contextlib.contextmanager
    def listening(self):
        """Serve HTTP, and yield the address."""
        handler = type("Bound", (Handler,), {"service": self})
        with Server(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Clients that give up are no error."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        service, fault = self.service, self.service.faults()
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if fault == DROPPED:
            return self.drop()
        if fault == AWAY:
            return self.reply(503, {"title": "away"})
        if fault == SLOW:
            time.sleep(random.uniform(0, 0.05))
        headers = {name.lower(): value for name, value in self.headers.items()}
        for _ in range(1 + (fault == TWICE)):
            status, answer = service.handle(self.command, self.path, headers, body)
        return self.drop() if fault == LOST else self.reply(status, answer)

    def reply(self, status, answer):
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status < 400 else "application/problem+json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def drop(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_):
        """Say nothing."""


class Faults:
    """One request in `often` goes wrong, each time in a way that is drawn; until they are over."""

    def __init__(self, seed, often, kinds=(DROPPED, LOST, AWAY, TWICE, SLOW)):
        self.random = random.Random(seed)
        self.often, self.kinds = often, kinds

    def __call__(self):
        return self.random.choice(self.kinds) if self.random.random() * self.often < 1 else None
