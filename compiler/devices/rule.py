"""Rules for the devices a profile is for: the `[[match]]` tables of its file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...runtime.launch.device import DeviceInfo


@dataclass(frozen=True)
class Rule:
    """Conditions on a device; a condition that is left out always holds."""

    target: str = ""
    """Language of its kernels: opencl or glsl."""
    type: str = ""
    """gpu, accelerator, cpu or other."""
    vendor: str = ""
    """Part of the vendor's name, ignoring case."""
    platform: str = ""
    """Part of the platform's name, ignoring case."""
    name: str = ""
    """Part of the device's name, ignoring case."""
    lanes: int = 0
    """Float lanes of its native vectors."""
    extension: str = ""
    """An extension that it supports."""
    instruction: str = ""
    """An instruction of its processor that kernels may use by name."""

    def holds(self, info: DeviceInfo) -> bool:
        """Whether all conditions hold for a device."""
        holding = {
            "target": self.target == info.target,
            "type": self.type == info.type,
            "vendor": self.vendor.lower() in info.vendor.lower(),
            "platform": self.platform.lower() in info.platform.lower(),
            "name": self.name.lower() in info.name.lower(),
            "lanes": self.lanes == info.vector_width,
            "extension": self.extension in info.extensions,
            "instruction": self.instruction in info.instructions,
        }
        return all(holding[condition] for condition in self.conditions)

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that are set, by name; rules with more conditions are more specific."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.conditions.items()) or "any"
