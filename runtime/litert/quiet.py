"""Keeping LiteRT's notices off the terminal.

LiteRT writes them to the descriptor of stderr, and has no function or option that turns them off.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NOTICE = b"INFO: "
"""The beginning of a line that is no warning or error."""

_STDERR = 2
_LOCK = threading.Lock()


@contextmanager
def without_notices() -> Iterator[None]:
    """Leave out LiteRT's notices; other lines on stderr appear at the end of the block."""
    import tempfile  # not when a plan without parts is loaded

    with _LOCK:
        try:
            terminal = os.dup(_STDERR)
        except OSError:  # stderr is closed
            yield
            return
        with tempfile.TemporaryFile() as written:
            os.dup2(written.fileno(), _STDERR)
            try:
                yield
            finally:
                os.dup2(terminal, _STDERR)
                os.close(terminal)
                written.seek(0)
                rest = b"".join(line for line in written if not line.startswith(NOTICE))
                if rest:
                    os.write(_STDERR, rest)
