"""The program `tflgpu`, also as `python -m tflgpu`, and the program `tflgpu-compile`.

Importing the compiler takes a moment, in which Ctrl-C ends the program as quietly as later.
"""

import gc
import os
import signal
import sys
from importlib import import_module
from typing import Any, NoReturn

INTERRUPTED = 130  # The exit code of a program that Ctrl-C ends: 128 and the number of SIGINT.

# New objects after which garbage is looked for; importing and compiling make few that are.
GARBAGE = 50_000


def _quit(number: int, frame: Any) -> NoReturn:
    """End at once: there is nothing to clean up before a command starts and after it has ended."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _open_streams() -> None:
    """Open the streams that were closed; files would get their numbers, and drivers' messages."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _run(program: str, module: str, command: str) -> None:
    signal.signal(signal.SIGINT, _quit)
    _open_streams()
    gc.set_threshold(GARBAGE)
    run = getattr(import_module(module), command)
    try:
        # Its object is what Ctrl-C does unless a command is under way, which may have to clean up.
        run(prog_name=program, obj=_quit)
    finally:
        # At its end, Python forgets what else Ctrl-C does, which would kill it instead.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def main() -> None:
    """Run `tflgpu` with the arguments of this process."""
    _run("tflgpu", "tflgpu.compiler.cli", "main")


def compile_main() -> None:
    """Run `tflgpu-compile`, which is `tflgpu compile`, with the arguments of this process."""
    _run("tflgpu-compile", "tflgpu.compiler.cli.commands.compiling", "compile_command")


if __name__ == "__main__":
    main()
