"""The layouts of row-major tensors that kernels access slice by slice."""

from dataclasses import dataclass

from ..language.expression import Expression, Number, Operand, expression
from ..language.functions import horner
from ..language.statement import If, Statement, Statements, body
from ..target import Target
from .accessor import Position, stored_from
from .codecs import ElementCodec
from .sliced import Sliced, Slices


@dataclass(frozen=True)
class SlicesOfRows(Sliced):
    """Row-major floats whose array elements are slices, which are whole so as to be aligned."""

    row_major = True

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.slices

    @property
    def plane(self) -> int:
        return 1

    def index(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        return self.nest(batch, row, column, slice)

    def joined(self, pixels: int, writes: bool, target: Target) -> Sliced:
        return self


@dataclass(frozen=True)
class Rows(Slices):
    """A row-major tensor that a kernel writes slice by slice, up to the last channel."""

    codec: ElementCodec

    @property
    def repeats(self) -> bool:
        return bool(self.tail) or not self.memory.language.vector_stores

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.channels

    def write(self, position: Position, value: Expression) -> Statements:
        index = self.index_of(position)
        if not self.tail or not self.may_be_last(position.slice):
            return body(self._whole(index, value))
        return stored_from(index, lambda to: self._stored(to, position.slice, value))

    def _stored(self, index: Expression, slice: Operand, value: Expression) -> Statements:
        """The statements that store the lanes of a slice, of the last one only those in use."""
        some = body(*self.codec.save_some(self.memory, index, value, range(self.tail)))
        if self.is_last(slice):
            return some
        is_whole = expression(slice) < self.slices - 1
        if self.memory.language.vector_stores or self.codec.packed:
            return body(If(is_whole, body(self._whole(index, value)), some))
        rest = body(*self.codec.save_some(self.memory, index, value, range(self.tail, self.lanes)))
        return body(*some.items, If(is_whole, rest, body()))

    def _whole(self, index: Expression, value: Expression) -> Statement:
        """The statement that stores all lanes of a slice."""
        pitch = (self.extents or self.nested)[-1]
        aligned = self.base % self.lanes == 0 and pitch % self.lanes == 0
        return self.codec.save_lanes(self.memory, index, value, aligned)

    def index_of(self, position: Position) -> Expression:
        """The index of a slice's first lane in the array.

        Where lanes are stored one by one, the pixels of a tile are at fixed distances from the
        first one: compilers do not find that out, and run out of registers for addresses.
        """
        first, further = expression(position.column).first_term
        if self.memory.language.vector_stores or not (first.simple and further.simple):
            first, further = expression(position.column), Number(0)
        pixel = self.nest(position.batch, position.row, first, 0)
        index = pixel + horner((position.slice, self.slices), (0, self.lanes))
        return index + further * (self.extents or self.nested)[-1]
