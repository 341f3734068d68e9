"""The types of arguments: paths, URLs, and names of devices, for the shell to complete."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...runtime.remote.url import is_url, without_password
from ..devices import profiles
from ..devices.attached import devices_here


class FilePath(click.Path):
    """A path that must not be empty, as it would be with an unset shell variable.

    It must end in one of `suffixes`, in small or capital letters, unless there are none.
    """

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        super().__init__(path_type=Path)
        self._suffixes = tuple(suffixes)

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if not value:
            self.fail("the path is empty", parameter, context)
        if is_url(value):
            self.fail(
                f"{without_password(value)} is a URL; this takes a path. `tflgpu-compile -o`, "
                f"`tflgpu run`, `tflgpu cache` and `tflgpu.load` take URLs",
                parameter,
                context,
            )
        if self._suffixes and Path(value).suffix.lower() not in self._suffixes:
            known = "one of " * (len(self._suffixes) > 1) + ", ".join(self._suffixes)
            self.fail(f"{value} must end in {known}", parameter, context)
        return super().convert(value, parameter, context)


class CachePlace(FilePath):
    """A cache: the path of a folder, or the URL of a store as a string."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if is_url(value):
            return value
        return super().convert(value, parameter, context)


class DeviceName(click.types.StringParamType):
    """Part of the name of an attached device, the name of a profile, or either."""

    def __init__(self, attached: bool = True, profile: bool = True) -> None:
        self._attached, self._profile = attached, profile

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> str:
        """The name; a usage error for a profile where only an attached device can be meant."""
        name = str(super().convert(value, parameter, context))
        if not self._profile and name in profiles():
            attached = [str(device) for device in devices_here()]
            if not any(name.lower() in device.lower() for device in attached):
                listed = "".join(f"\n  {device}" for device in attached)
                self.fail(
                    f"{name} is a device profile, which kernels are compiled for; this runs on an "
                    f"attached device, of which there are:{listed or ' none'}",
                    parameter,
                    context,
                )
        return name

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Profiles, and the first word of each attached device's name, which is enough of it."""
        found = [CompletionItem("auto", help="the best device")] if self._attached else []
        if self._profile:
            found += [CompletionItem(n, help=p.description) for n, p in profiles().items()]
        if self._attached:
            found += _attached()
        return [item for item in found if str(item.value).startswith(incomplete)]


def _attached() -> list[CompletionItem]:
    return [CompletionItem(each.name.split()[0], help=str(each)) for each in devices_here()]
