"""Ctrl-C ends a command soon, also where compiled code or a compiler does not listen."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

PATIENCE = 0.4
"""Seconds that a command has to end by itself: then what it keeps is whole, but temporary files may stay."""
STOPPED = 130
SHOW_CURSOR = b"\x1b[?25h"


@contextlib.contextmanager
def promptly() -> Iterator[None]:
    """End the process if KeyboardInterrupt has not ended it soon after Ctrl-C.

    Python's handler waits until the main thread is back from compiled code; a byte in a pipe does not.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    over = threading.Event()

    def listen() -> None:
        with os.fdopen(heard, "rb", buffering=0) as pipe:
            while number := pipe.read(1):
                if number[0] == signal.SIGINT:
                    time.sleep(PATIENCE)
                    _end(silent=over.is_set())  # then Python itself takes its time to end

    threading.Thread(target=listen, daemon=True).start()
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(told)


def _end(silent: bool) -> None:
    with contextlib.suppress(OSError):
        if os.isatty(1):
            os.write(1, SHOW_CURSOR)  # a progress bar has hidden it
        if not silent:
            os.write(2, b"Stopped.\n")
    os._exit(STOPPED)
