"""A bar on a terminal while something takes long that does not say how far it is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TextIO

PATIENCE = 1.0  # Seconds for which nothing is shown, as most steps are over by then.
INTERVAL = 0.1  # Seconds between two states of the bar.
WIDTH, MARK = 24, 6  # Characters of the bar, and of the mark that moves in it.


@contextmanager
def waiting(text: str, stream: TextIO | None = None, patience: float = PATIENCE) -> Iterator[None]:
    """A block during which a bar on a terminal says what is done, and for how long."""
    stream = stream or sys.stderr
    # A program without a console has no streams; one that is closed is no terminal.
    if stream is None or stream.closed or not stream.isatty():
        yield
        return
    over = Event()
    shown = Thread(target=_show, args=(text, stream, over, patience), daemon=True)
    shown.start()
    try:
        yield
    finally:
        over.set()
        shown.join()


def _show(text: str, stream: TextIO, over: Event, patience: float) -> None:
    began = monotonic()
    if over.wait(patience):
        return
    line = ""
    while not over.is_set():
        line = f"{text} {_bar(monotonic() - began)}"
        stream.write(f"\r{line}")
        stream.flush()
        over.wait(INTERVAL)
    stream.write(f"\r{' ' * len(line)}\r")
    stream.flush()


def _bar(seconds: float) -> str:
    """The mark moves to the right and back once in a few seconds."""
    room = WIDTH - MARK
    place = int(seconds / INTERVAL) % (2 * room)
    before = min(place, 2 * room - place)
    return f"[{' ' * before}{'=' * MARK}{' ' * (room - before)}] {seconds:3.0f} s"
