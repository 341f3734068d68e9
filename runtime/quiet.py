"""Keeping the notices of libraries off the terminal.

Some libraries write them to the descriptor of stderr, and have no function or option that turns
them off.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The beginnings of lines that do not matter: LiteRT's notices, and what Vulkan's drivers say of a
# machine without windows.
NOTICES = (b"INFO: ", b"error: XDG_RUNTIME_DIR is invalid")

_STDERR = 2
_LOCK = threading.Lock()


@contextmanager
def without_notices() -> Iterator[None]:
    """Leave out notices; other lines on stderr appear at the end of the block."""
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
                rest = b"".join(line for line in written if not line.startswith(NOTICES))
                if rest:
                    os.write(_STDERR, rest)
