"""Slices of floats, as kernels compute with them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...language.expression import Expression, Name, Operand
from ...language.primary import Element
from ...language.statement import Assign, Statement
from ...language.types import FLOATS
from ...target import Target
from ..memory import Buffer
from .codec import Join, SliceCodec


@dataclass(frozen=True)
class Floats(SliceCodec):
    """Slices of floats; or those that an image makes of halves."""

    stored = "slice"

    @property
    def in_image(self) -> SliceCodec:
        return self

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return memory.element(index, FLOATS)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        return memory.lane(index, lane)

    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        return memory.set(index, value)

    def number(self, memory: Buffer, index: Operand, base: int) -> Expression:
        if memory.texel:
            return super().number(memory, index, base)
        return memory.call("float_at", index + base * memory.lanes)

    def numbers(self, memory: Buffer, indices: Operand, base: int) -> Expression | None:
        if memory.texel:
            return None
        return memory.call("floats_at", indices + base * memory.lanes, kind=FLOATS)

    def joins(self, target: Target) -> Sequence[Join]:
        return (Columns(),) if target.joined_stores else ()


@dataclass(frozen=True)
class Columns:
    """Four slices of floats, as the columns of a matrix."""

    stored: str = "four"
    together: int = 4

    def part(self, memory: Buffer, number: int, value: Expression) -> Statement:
        return Assign(Element(Name("joined"), number), "=", value)
