"""What a compilation generates kernels for: a device, a kernel language and a precision."""

from __future__ import annotations

from dataclasses import dataclass

from .devices import Profile
from .language import GLSL, OPENCL, VULKAN, Language

SOURCE_LANGUAGES = {"opencl": OPENCL, "glsl": GLSL, "vulkan": VULKAN, "metal": VULKAN}
"""The language kernels are generated in, by what the option `target` asks for.

Metal's kernels are translated from those for Vulkan.
"""


@dataclass(frozen=True)
class Target:
    """A device in a language and a precision; every stage from the rewrites on asks it."""

    device: Profile
    language: Language = OPENCL
    precision: str = "f32"
    """f32, or f16: slices of activations are stored in half precision."""

    @property
    def lanes(self) -> int:
        """Channels of a slice, which are the lanes of a vector."""
        return self.device.slice_width

    @property
    def half(self) -> bool:
        """Whether slices of activations are stored in half precision."""
        return self.precision == "f16"

    @property
    def lane_bytes(self) -> int:
        """Bytes of one lane of a stored slice."""
        return 2 if self.half else 4

    @property
    def slice_bytes(self) -> int:
        """Bytes of a stored slice."""
        return self.lanes * self.lane_bytes

    @property
    def on_processor(self) -> bool:
        """Whether a work-group runs on one core of a processor, where vectors share its work."""
        return self.device.kind == "processor"

    @property
    def weight_images(self) -> bool:
        """Whether kernels read weights from images of buffers."""
        return self.language.images and self.device.weight_storage == "image"

    @property
    def tensor_images(self) -> bool:
        """Whether kernels read slices of activations from images of buffers."""
        return self.language.images and self.device.tensor_storage == "image"

    @property
    def sub_group(self) -> int:
        """Work-items that exchange values without memory; 0 if kernels use no sub-groups."""
        return self.device.sub_group if self.language.sub_groups else 0

    def __str__(self) -> str:
        return f"{self.language}, {self.precision}, {self.device.name}"
