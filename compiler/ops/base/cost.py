"""A static model of what a tile costs: loads against multiply-adds, and registers.

It knows no milliseconds. It says which tiles do not fit in registers, and ranks the others by the
multiply-adds that they do for each load. Its numbers are those of the profiles, which were checked
against the machine code of the compilers that `tflgpu inspect --compiler` and docs/kernels.md name.
"""

from dataclasses import dataclass
from typing import Protocol

from ...target import Target
from .tile import Area, Tile

BESIDES = 12  # Registers for addresses and counters.
ADDRESS = 2  # Registers of an address, of 64 bits.


def stored_registers(accumulators: int, wide: int, operands: int, target: Target) -> int:
    """Registers while a work-item stores its sums, each of `wide` registers: compilers load what
    the epilogue reads for the first of them ahead, and hold it for all if it is the same.
    """
    return wide * accumulators + target.lanes * operands + BESIDES


@dataclass(frozen=True)
class Step:
    """What an inner step does, which multiplies inputs by slices of weights."""

    products: int  # Multiply-adds of slices.
    loads: float  # Loads of slices for them.
    cost: float  # Estimated time; the unit is a multiply-add of slices.
    registers: int  # Registers of a work-item, of 32 bits.
    # Registers of the device with which enough work-items are in flight; 0 for any number.
    available: int

    @property
    def spills(self) -> bool:
        """Whether it needs more registers than that: it spills, or fewer work-items fit."""
        return 0 < self.available < self.registers

    def explanation(self, items: int, idle: float) -> str:
        """What a tile's estimate says, for people: `idle` times as many work-items would fit."""
        text = f"{self.products / self.loads:.1f} multiply-adds a load"
        if self.available:
            text += f", {self.registers} of {self.available} registers"
        text += f", {items} work-items"
        return text if idle <= 1 else f"{text} where {items * idle:.0f} keep it busy"


class Work(Protocol):
    """What the kernels of an implementation do, of which `step` tells the cost."""

    def in_half(self, target: Target) -> bool:
        """Whether they multiply and add in half precision on GPUs."""
        return target.half_arithmetic

    def step(self, tile: Tile, area: Area, target: Target) -> Step:
        """What a work-item with such a tile of an area does.

        Fewer work-items than a device needs leave it idle, and partial tiles at the edges cost as
        much as whole ones, which `choose_tile` accounts for.
        """


@dataclass(frozen=True)
class Loads:
    """What a step of a kernel's inner loop loads, and holds next to its sums."""

    # Whether a step is one input channel, of which it loads a lane of each pixel; otherwise it is a
    # slice of them.
    by_lane: bool = False
    addresses: int = 0  # Registers for where each pixel lies, if pixels are not at fixed distances.
    # Whether tiles of even width may load two neighbouring pixels at once, in half precision.
    pixel_pairs: bool = False
    # Whether a tile that would reach beyond the end of its row starts earlier, so that its pixels
    # need one address; otherwise each of them needs its own.
    shifted: bool = False
    # Whether a slice of factors for the pixels is held, too, in half precision.
    gated: bool = False

    def in_half(self, target: Target) -> bool:
        return target.half_arithmetic and not target.on_processor and not self.by_lane

    def step(self, tile: Tile, area: Area, target: Target) -> Step:
        """A step of the inner loop. In half precision a slice takes half as many registers if
        halves are paired, and a load gives two slices of weights.
        """
        device, half = target.device, self.in_half(target)
        pixels, weights, lanes = tile.pixels, tile.slices * tile.sums, device.slice_width
        products = tile.accumulators
        if device.kind == "processor":
            cost = products + 0.5 * (pixels + weights) + 1
            return Step(products, pixels + weights, cost, 0, 0)
        loaded = weights + (pixels if self.by_lane else pixels / lanes)
        ahead = device.loads_ahead and not self.addresses
        at_once = pixels if tile.slices > 1 or ahead else 1
        held = weights + 1 if self.by_lane else lanes + at_once
        starts = 1 if self.shifted else pixels
        addresses = max(self.addresses * pixels, ADDRESS * starts if area.ragged(tile) else 0)
        if half:
            loaded -= weights / 2
            if self.pixel_pairs and pixels % 2 == 0 and "pairs" in target.language.elements:
                loaded -= pixels / lanes / 2
            held += lanes * (tile.slices - 1) + self.gated
        wide = lanes // 2 if half and device.paired_halves else lanes
        multiplying = wide * (products + held) + addresses + BESIDES
        registers = max(multiplying, stored_registers(products, wide, area.operands, target))
        cost = products + device.load_cost * loaded + 1
        return Step(products, loaded, cost, registers, device.registers)


# A slice of input channels of each pixel, and the weights for it, one output slice at a time.
WHOLE_SLICES = Loads()
IN_ROWS = Loads(shifted=True)  # Whole slices of 1x1 convolutions, whose pixels lie in rows.
# Whole slices where windows may reach beyond the image: each pixel has an address, and whether it
# is within.
MASKED_SLICES = Loads(addresses=3)
LANES = Loads(by_lane=True)  # A lane of each pixel, and the weights for it.
