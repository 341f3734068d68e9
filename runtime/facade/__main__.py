"""The program `tflgpu`, also as `python -m tflgpu`, and the program `tflgpu-compile`.

Importing the compiler takes a moment, in which Ctrl-C ends the program as quietly as later.
"""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ends: 128 and the number of SIGINT."""


def _quit(number: int, frame: Any) -> NoReturn:
    """End at once: there is nothing to clean up before a command starts and after it has ended."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _run(name: str) -> None:
    signal.signal(signal.SIGINT, _quit)
    try:
        from .compiler import cli

        signal.signal(signal.SIGINT, signal.default_int_handler)
        getattr(cli, name)(prog_name="tflgpu" if name == "main" else "tflgpu-compile")
    finally:
        signal.signal(signal.SIGINT, _quit)


def main() -> None:
    """Run `tflgpu` with the arguments of this process."""
    _run("main")


def compile_main() -> None:
    """Run `tflgpu-compile` with the arguments of this process."""
    _run("compile_main")


if __name__ == "__main__":
    main()
