"""The memory that kernels access: buffers, and images of texels."""

from dataclasses import dataclass, field
from functools import cached_property

from ..language.expression import Expression, Name, Operand, expression
from ..language.functions import lane
from ..language.language import Language
from ..language.primary import Call, Element
from ..language.statement import Assign, Evaluate, Statement
from ..language.types import FLOAT, FLOATS


@dataclass(frozen=True)
class Buffer:
    """An array that a parameter of the kernel points to."""

    name: str
    language: Language
    lanes: int
    # Collects the names of the intrinsics that accesses call.
    used: set[str] = field(default_factory=set, compare=False, repr=False)

    texel = 0  # Bytes of a texel of an image buffer; 0 for a buffer.

    @cached_property
    def variable(self) -> Name:
        """What kernels call the array."""
        return Name(self.name)

    def called(self, intrinsic: str) -> str:
        """The name of an intrinsic, which the kernel then needs."""
        self.used.add(intrinsic)
        return intrinsic

    def call(self, intrinsic: str, *arguments: Operand, kind: str = FLOAT) -> Expression:
        return Call(self.called(intrinsic), self.variable, *arguments, type=kind)

    def element(self, index: Operand, kind: str = FLOAT) -> Expression:
        return Element(self.variable, index, kind)

    def near(self, start: Operand, offset: Operand, kind: str) -> Expression:
        """The element a short way from an index."""
        if self.language.pointers:
            return self.call("element_of", start, offset, kind=kind)
        return self.element(expression(start) + offset, kind)

    def lane(self, index: Operand, number: Operand, kind: str = FLOAT) -> Expression:
        """One lane of an element that is a slice of floats or of halves."""
        if self.language.pointers:
            intrinsic = "lane_of" if kind == FLOAT else "lane_of_halves"
            return self.call(intrinsic, index, number, kind=kind)
        slice, known = self.element(index, FLOATS), expression(number).value
        return Element(slice, number, kind) if known is None else lane(slice, known, self.lanes)

    def do(self, intrinsic: str, *arguments: Operand) -> Statement:
        """The statement that calls an intrinsic with the array."""
        return Evaluate(self.call(intrinsic, *arguments))

    def splat(self, value: Operand) -> Expression:
        """A slice with the same value in every lane."""
        return self.language.made(FLOATS, self.lanes, value)

    def set(self, index: Operand, value: Operand) -> Statement:
        """The statement that stores a value as the element at an index."""
        return Assign(Element(self.variable, index), "=", expression(value))


@dataclass(frozen=True)
class Image(Buffer):
    """An image buffer, whose texels are four lanes; reading one converts halves to floats."""

    texel: int = 16

    def element(self, index: Operand, kind: str = FLOAT) -> Expression:
        return self.call("read_texel", index, kind=kind)

    def lane(self, index: Operand, number: Operand, kind: str = FLOAT) -> Expression:
        return self.call("texel_lane", index, number)
