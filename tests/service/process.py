"""Services in processes of their own."""

import os
import re
import subprocess
import time
from pathlib import Path

import httpx

from cli.command import PROGRAM


class Process:
    """``brigand serve`` on a store; its log is in a file."""

    def __init__(self, url, log, *options, port=0):
        self.log = Path(log)
        self._words = [PROGRAM, "serve", "--store", url, "--port", str(port), *options]
        self.port = port
        self.start()

    def start(self):
        with self.log.open("ab") as file:
            self.began_at = file.tell()
            self.process = subprocess.Popen(
                self._words, stdout=file, stderr=file, env=os.environ | {"NO_COLOR": "1"}
            )

    def wait(self, seconds=120):
        """Wait until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(rb"http://127.0.0.1:(\d+)", self.text())
            if found:
                self.port = int(found[1])
                try:
                    if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                        return self
                except httpx.HTTPError:
                    pass
            if self.process.poll() is not None:
                raise RuntimeError(self.text().decode())
            time.sleep(0.05)
        raise TimeoutError(self.text().decode())

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def text(self):
        return self.log.read_bytes()[self.began_at :]

    def end(self, number):
        """Send a signal, wait, and return the status."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self.wait()

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()
