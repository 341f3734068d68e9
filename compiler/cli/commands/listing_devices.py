"""`tflgpu devices`: list the attached devices and the profiles."""

from collections import Counter
from collections.abc import Mapping

import click

from .... import runtime
from ....runtime.drivers import unusable
from ....runtime.opencl.find import advice
from ...devices import profiles
from ...devices.attached import Match, match
from ..printing import Answer, Column, Listing, json_option
from ..shell import Command, Failure, warn

PROFILES = (Column("name", "profile"), Column("description", "description"))

BROKEN = (
    Column("name", "device"),
    Column("target"),
    Column("usable", value=lambda each: False),
    Column("reason", "reason"),
    Column("advice"),
)


def _usable(found: Mapping[runtime.DeviceInfo, Match]) -> Listing:
    """The devices that work; one is shown with its platform if another has its name."""
    names = Counter((info.name, info.target) for info in found)
    columns = (
        Column(
            "name",
            "device",
            text=lambda info: info if names[info.name, info.target] > 1 else info.name,
        ),
        Column("platform"),
        Column("version"),
        Column("type", "type"),
        Column(
            "driver",
            "driver",
            text=lambda info: info.driver.partition("_")[0],  # without the number of the build
        ),
        Column("target", "target"),
        Column("usable", value=lambda info: True),
        Column("profile", "profile", lambda info: found[info].profile.name),
        Column("because", value=lambda info: found[info].rule.conditions),
    )
    return Listing("Devices, the best one first", columns, [*found])


@click.command(cls=Command, short_help="List the devices and profiles.")
@json_option
def devices() -> None:
    """List the devices, best first, and the target and profile to compile with for each.

    Devices and drivers that do not work come last, with the reason.
    """
    found = {info: match(info) for info in runtime.devices()}
    broken = unusable()
    usable = _usable(found)
    others = Listing("Unusable, see `tflgpu doctor`", BROKEN, broken)
    own = "Device profiles for --device, which also takes the path of your own profile"
    known = Listing(own, PROFILES, [*profiles().values()])
    devices = [*usable.objects(), *others.objects()]
    Answer({"devices": devices, "profiles": known}, (usable, others, known)).print()
    if not found:
        raise Failure("\n".join(map(str, broken)) or f"there is no device; {advice()}")
    if "opencl" not in {info.target for info in found} | {each.target for each in broken}:
        warn(f"there is no OpenCL device; {advice()}")
