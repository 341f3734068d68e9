"""What commands print on a terminal of 80 columns, as a page for a browser to take a picture of."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

COLUMNS, ROWS = 80, 40


def printed(command: Sequence[str], folder: Path) -> str:
    """What a command prints on stdout, with its colours, if that is a terminal."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(
        command, cwd=folder, stdout=terminal, stderr=subprocess.DEVNULL, env=_environment()
    ):
        os.close(terminal)
        pieces = []
        # Linux reports the end of the program as an error of the terminal.
        with suppress(OSError):
            while piece := os.read(reader, 1 << 16):
                pieces.append(piece)
    os.close(reader)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def _environment() -> dict[str, str]:
    return {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}


def page(commands: Sequence[tuple[str, str]]) -> str:
    """A page with commands, as they are typed, each with what it printed."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), legacy_windows=False)
    for typed, text in commands:
        console.print(Text(f"$ {typed}", style="bold"))
        console.print(Text.from_ansi(text))
    return console.export_html(theme=DIMMED_MONOKAI, inline_styles=True)
