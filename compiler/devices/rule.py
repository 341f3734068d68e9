"""Which devices a profile is for: the `[[match]]` tables of its file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...runtime.launch.device import DeviceInfo


@dataclass(frozen=True)
class Rule:
    """What a device must say of itself; what is left out does not matter."""

    target: str = ""
    """Language of its kernels: opencl or glsl."""
    type: str = ""
    """gpu, accelerator, cpu or other."""
    vendor: str = ""
    """A part of its vendor's name, in any case, as in `platform` and `name`."""
    platform: str = ""
    name: str = ""
    lanes: int = 0
    """Float lanes of its native vectors."""
    extension: str = ""
    """One of the extensions it has."""

    def holds(self, info: DeviceInfo) -> bool:
        """Whether all that is given is so."""
        said = {
            "target": self.target == info.target,
            "type": self.type == info.type,
            "vendor": self.vendor.lower() in info.vendor.lower(),
            "platform": self.platform.lower() in info.platform.lower(),
            "name": self.name.lower() in info.name.lower(),
            "lanes": self.lanes == info.vector_width,
            "extension": self.extension in info.extensions,
        }
        return all(said[condition] for condition in self.conditions)

    @property
    def conditions(self) -> dict[str, Any]:
        """What is given, by name; of two rules that hold, the one that asks for more counts."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.conditions.items()) or "any"
