"""Trying a driver in a process of its own, which the driver may end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PATIENCE = 10.0  # Seconds that a driver may take for a try, if other programs leave it a core.
MOST = 6  # Times as long on a machine with as many programs for each core.
# Seconds for which it is remembered that a driver took longer: so it does on a busy machine.
TRUSTED = 24 * 3600.0


class Attempt:
    """What a process that tries a driver said, and how it ended."""

    def __init__(
        self, module: str, arguments: tuple[object, ...], variables: Mapping[str, str]
    ) -> None:
        """Run a module of tflgpu, which uses `say`, with these variables changed."""
        # Those that it listed; None if it did not come that far.
        self.devices: list[Any] | None = None
        # Why the device failed; empty if it did not, or if no process can be started.
        self.failure = ""
        # Those of the processor that kernels on the device can use by name.
        self.instructions: list[str] = []
        self.overdue = False  # Whether the process was ended since it took too long.
        self._step = ""
        self._ended = False
        self._run([sys.executable or "", "-m", module, *map(str, arguments)], variables)

    def _run(self, command: list[str], variables: Mapping[str, str]) -> None:
        patience = PATIENCE * min(max(_programs_a_core(), 1.0), MOST)
        try:
            ended = subprocess.run(
                command,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
                check=False,
            )
            output, errors = ended.stdout, ended.stderr
            ending = f"it crashed ({_cause(ended.returncode)})"
        except subprocess.TimeoutExpired as expired:
            output, errors = expired.stdout or b"", expired.stderr or b""
            ending = f"it did not come back within {patience:.0f} s"
            self.overdue = True
        except OSError:
            return
        for line in output.decode(errors="replace").splitlines():
            # Drivers may print, too.
            with suppress(ValueError, TypeError):
                self._take(*json.loads(line))
        if self._step and not self._ended:
            said = errors.decode(errors="replace").split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "")
            self.failure = f"{ending} while {self._step}{last and ': '}{last}"

    def _take(self, kind: str, content: Any) -> None:
        if kind == "step":
            self._step = content
        elif kind == "devices":
            self.devices = list(content)
        elif kind == "instruction":
            self.instructions.append(str(content))
        elif kind == "result":
            self.failure, self._ended = str(content), True


def _programs_a_core() -> float:
    """Programs that computed, or waited to, for each core in the last minute; 0 if unknown."""
    with suppress(AttributeError, OSError):  # Windows
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    return 0.0


def outdated(file: Path | str) -> bool:
    """Whether a driver that took too long, as this file says, should be tried again (OSError)."""
    return time.time() - os.stat(file).st_mtime > TRUSTED


def say(kind: str, content: object) -> None:
    """Tell the process that started this one: a step before it is taken, the devices, the result.

    The result is why the device failed, or empty.
    """
    print(json.dumps((kind, content)), flush=True)


def told(steps: Iterator[str], *errors: type[Exception]) -> str:
    """Why one of these steps failed, each told before it is taken; empty if none did."""
    try:
        for step in steps:
            say("step", step)
    except errors as error:
        return str(error)
    return ""


def _cause(status: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"exit status {status}"
