"""The target of a compilation: a device profile, a kernel language and a precision."""

from dataclasses import dataclass

from .devices import Profile
from .language.language import GLSL, OPENCL, VULKAN, WGSL, Language

# The language kernels are generated in, by the option `target`. Metal's kernels are translated from
# Vulkan's.
SOURCE_LANGUAGES = {"opencl": OPENCL, "glsl": GLSL, "vulkan": VULKAN, "metal": VULKAN, "wgsl": WGSL}

# Loops over eight lanes take PoCL's code 1.1 to 1.6 times as long; over sixteen, 0.9 to 0.95 times.
FEW_LANES = 8


@dataclass(frozen=True)
class Target:
    """What kernels are generated for; every stage from the rewrites on depends on it."""

    device: Profile
    language: Language = OPENCL
    # f32; f32_f16, which stores weights and slices of activations in half precision; or f16, which
    # also computes in it where that is fast.
    precision: str = "f32"

    nan: str = "keep"  # keep; or any, with which limits need not hand NaN on.

    # Whether kernels for several choices of a model read its weights, which are stored once.
    shares_weights: bool = False

    @property
    def lanes(self) -> int:
        """Channels per slice, which are the lanes of a vector."""
        return self.device.slice_width

    @property
    def half(self) -> bool:
        """Whether weights and slices of activations are stored in half precision."""
        return self.precision != "f32"

    @property
    def half_arithmetic(self) -> bool:
        """Whether kernels that can multiply and add in half precision do."""
        return self.precision == "f16" and self.language.name in self.device.half_arithmetic

    @property
    def byte_products(self) -> bool:
        """Whether layers of integers multiply bytes."""
        return self.device.byte_storage and self.language.name in self.device.byte_products

    @property
    def byte_tables(self) -> bool:
        """Whether kernels look up a table of bytes for all lanes of a slice at once."""
        return self.byte_products and self.on_processor

    @property
    def joined_stores(self) -> bool:
        """Whether kernels store several neighbouring pixels at once, more than two halves."""
        return self.device.joined_stores and "four" in self.language.elements

    @property
    def on_processor(self) -> bool:
        """Whether the device is a processor, where a work-group runs on a single core."""
        return self.device.kind == "processor"

    @property
    def few_lanes(self) -> bool:
        """Whether processors take the lanes of a slice without a loop, as they are few."""
        return self.on_processor and self.lanes <= FEW_LANES

    @property
    def roll(self) -> str:
        """The hint before a loop to keep as it is; processors have the registers to unroll it."""
        return "" if self.on_processor else self.language.roll

    @property
    def weight_images(self) -> bool:
        """Whether kernels read weights from image buffers."""
        return self.language.images and self.device.weight_storage == "image"

    @property
    def tensor_images(self) -> bool:
        """Whether kernels read slices of activations from image buffers."""
        return self.language.images and self.device.tensor_storage == "image"

    @property
    def sub_groups(self) -> bool:
        """Whether the work-items of a sub-group add up what they have by themselves."""
        return self.language.name in self.device.sub_groups

    def aligned(self, offset: int) -> int:
        """Where an argument begins of which an offset is the first that a kernel accesses."""
        return offset - offset % self.device.alignment

    def __str__(self) -> str:
        return f"{self.language}, {self.precision}, {self.device.name}"
