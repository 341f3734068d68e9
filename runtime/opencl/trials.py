"""Which drivers work, found out once in processes of their own and remembered in the user's cache.

    <user's cache>/tflgpu/drivers/<digest>/trials.txt     what was found out
                                           tflgpu-vendors/*.icd  those that may be loaded

The digest is that of the installed drivers' files, of the programs that they link kernels with, and
of the processor's instructions: if one of them changes, all drivers are tried again. They also are
after a day if one of them took too long, as any does on a busy machine.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache

from ..cache.private_files import check_private, make_private, replace_file
from ..environment import folder_of_caches
from ..errors import CacheWarning, PlanError, warn_caller
from ..processor import instruction_set
from .drivers import OURS, Driver, installed, register

VERSION = 7  # Of the kernels that are tried and of the files; part of the digest.
_FILE = "trials.txt"


class DeviceTrial:
    """What the driver of a device can build and run for it."""

    def __init__(self, name: str, version: str, index: int, rank: int = 0) -> None:
        self.name = name  # The text of its `DeviceInfo`.
        self.version = version  # Of the driver.
        self.index = index  # Among the driver's devices.
        self.rank = rank  # Its place among all devices, of which the best one has 0.
        # Why it cannot handle vectors of so many floats; empty if it can.
        self.lanes: dict[int, str] = {}
        # Those of the processor that its kernels can use by name.
        self.instructions: list[str] = []

    def is_(self, name: str, version: str) -> bool:
        """Whether it is the device with this text and this version of its driver."""
        return (self.name, self.version) == (name, version)

    def widest(self) -> int:
        """The most lanes it can handle; 0 if none."""
        return max((lanes for lanes, reason in self.lanes.items() if not reason), default=0)


class DriverTrial:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.failure = ""  # Why it has no devices, if it failed before it listed them.
        self.overdue = False  # Whether it, or one of its devices, was not waited for any longer.
        self.devices: list[DeviceTrial] = []

    def advice(self) -> str:
        """What to do about it, or about a device of its, that does not work."""
        return self.driver.advice(self.overdue)

    def usable(self) -> bool:
        """Whether it may be loaded: a driver without devices may."""
        return not self.failure and (
            not self.devices or any(device.widest() for device in self.devices)
        )


class Trials:
    def __init__(self, drivers: Sequence[Driver], folder: str | os.PathLike[str]) -> None:
        """`folder` is the user's cache; if nothing can be written there, nothing is remembered."""
        self.drivers = [DriverTrial(driver) for driver in drivers]
        parts = [VERSION, instruction_set(), *(driver.identity() for driver in drivers)]
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        self._folder = os.path.join(folder, "drivers", digest)

    def recall(self) -> bool:
        """Read what was found out before; whether there was anything, and it still counts."""
        path = os.path.join(self._folder, _FILE)
        try:
            check_private(self._folder)
            with open(path, encoding="utf-8") as file:
                self._parse(file.read())
            if not any(trial.overdue for trial in self.drivers):
                return True
            # Imported here, as it takes longer than all of this.
            from ..launch.attempt import outdated

            return not outdated(path)
        except (OSError, PlanError, ValueError, IndexError):
            return False

    def run(self) -> None:
        """Try every driver, all at once, and remember what came of it."""
        # Imported here, where the time that takes does not matter.
        from concurrent.futures import ThreadPoolExecutor

        from .attempt import try_driver

        with ThreadPoolExecutor(len(self.drivers) or 1) as pool:
            found = [pair for pairs in pool.map(try_driver, self.drivers) for pair in pairs]
        for rank, (_, device) in enumerate(sorted(found, key=lambda pair: pair[0], reverse=True)):
            device.rank = rank
        self._remember()

    def usable(self) -> list[str]:
        """The libraries of the drivers that may be loaded."""
        return [trial.driver.library for trial in self.drivers if trial.usable()]

    def likely(self, name: str) -> list[str]:
        """Those of them that should have the best device with this in its text, or any of "auto".

        A driver that had no device when it was tried may have one now.
        """
        ranked = [
            (device.rank, trial.driver.library)
            for trial, device in self._devices()
            if device.widest() and (name == "auto" or name.lower() in device.name.lower())
        ]
        idle = [each.driver.library for each in self.drivers if each.usable() and not each.devices]
        return [*idle, min(ranked)[1]] if ranked else self.usable()

    def vendors(self) -> str:
        """The folder that registers the drivers that may be loaded, for loaders of others."""
        return os.path.join(self._folder, OURS)

    def device(self, name: str, version: str) -> DeviceTrial | None:
        return next((found for _, found in self._devices() if found.is_(name, version)), None)

    def reason_against(self, name: str, version: str, lanes: int) -> str:
        """Why a device cannot handle so many lanes, found out now if need be; empty if it can."""
        for trial, device in self._devices():
            if device.is_(name, version) and 0 < device.widest() < lanes:
                if lanes not in device.lanes:
                    from .attempt import Attempt

                    tried = Attempt(trial.driver, lanes, device.index)
                    device.lanes[lanes] = tried.failure
                    trial.overdue |= tried.overdue
                    self._remember()
                return device.lanes[lanes]
        return ""

    def _devices(self) -> Iterator[tuple[DriverTrial, DeviceTrial]]:
        for trial in self.drivers:
            for device in trial.devices:
                yield trial, device

    def _parse(self, text: str) -> None:
        """Take over what `_lines` wrote (ValueError, IndexError)."""
        number = -1
        for line in text.splitlines():
            kind, *words = line.split("\t")
            if kind == "driver":
                number += 1
                failure, overdue = words
                trial = self.drivers[number]
                trial.failure, trial.overdue = failure, bool(int(overdue))
            elif kind == "device":
                name, version, index, rank = words
                device = DeviceTrial(name, version, int(index), int(rank))
                self.drivers[number].devices.append(device)
            elif kind == "instruction":
                self.drivers[number].devices[-1].instructions.append(words[0])
            else:
                self.drivers[number].devices[-1].lanes[int(kind)] = words[0]
        if number + 1 != len(self.drivers):
            raise ValueError("drivers are missing")

    def _lines(self) -> Iterator[str]:
        """What was found out, with tabs between words: importing json would take longer."""
        for trial in self.drivers:
            yield f"driver\t{_word(trial.failure)}\t{trial.overdue:d}"
            for device in trial.devices:
                name, version = map(_word, (device.name, device.version))
                yield f"device\t{name}\t{version}\t{device.index}\t{device.rank}"
                for lanes, reason in device.lanes.items():
                    yield f"{lanes}\t{_word(reason)}"
                for instruction in device.instructions:
                    yield f"instruction\t{_word(instruction)}"

    def _remember(self) -> None:
        # Imported here, where the time that takes does not matter.
        import atexit
        import shutil
        import tempfile

        try:
            self._write()
        except (OSError, PlanError) as error:
            warn_caller(
                CacheWarning(f"OpenCL's drivers will be tried again at every start: {error}")
            )
            self._folder = tempfile.mkdtemp(prefix="tflgpu-")
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            self._write()

    def _write(self) -> None:
        from pathlib import Path

        folder = Path(self._folder)
        make_private(folder)
        register(self.vendors(), self.usable())
        # Other processes may be reading it, or writing it, too.
        content = "".join(f"{line}\n" for line in self._lines()).encode()
        replace_file(folder / _FILE, content, lasting=False)


def _word(text: str) -> str:
    return " ".join(text.replace("\t", " ").splitlines())


@cache
def known() -> Trials:
    """What is known of the drivers of this machine, after trying them if nothing was."""
    trials = _of_this_machine()
    if trials.drivers and not trials.recall():
        trials.run()
    return trials


def try_again() -> None:
    """Try the drivers of this machine, whatever was known of them; before any is loaded."""
    trials = _of_this_machine()
    if trials.drivers:
        trials.run()


def _of_this_machine() -> Trials:
    return Trials(installed(), os.path.join(folder_of_caches(), "tflgpu"))
