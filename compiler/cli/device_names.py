"""The names that --device takes, for the shell to complete."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from ... import runtime
from ...runtime.errors import DeviceError
from ...runtime.launch.device import DeviceInfo
from ..devices import profiles


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
            attached = [str(device) for device in _devices()]
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
    return [CompletionItem(each.name.split()[0], help=str(each)) for each in _devices()]


def _devices() -> list[DeviceInfo]:
    """The attached devices; none without a driver."""
    try:
        return runtime.devices()
    except DeviceError:
        return []
