"""The names that --device takes, for the shell to complete."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from ... import runtime
from ...runtime.errors import DeviceError
from ..devices import profiles


class DeviceName(click.types.StringParamType):
    """Part of the name of an attached device, the name of a profile, or either."""

    def __init__(self, attached: bool = True, profile: bool = True) -> None:
        self._attached, self._profile = attached, profile

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
    try:
        return [CompletionItem(d.name.split()[0], help=str(d)) for d in runtime.devices()]
    except DeviceError:
        return []
