"""What an accessor is: a layout of a tensor, a codec of its values, and the memory they lie in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import prod

from ..ir import Shape
from ..language.expression import Expression, Name, Operand, expression
from ..language.functions import coordinate, lane
from ..language.statement import Copy, Declare, Statements, body
from ..language.types import FLOATS, INT
from ..target import Target
from .codecs import Codec, Join
from .memory import Buffer


@dataclass(frozen=True)
class Position:
    """Batch, row, column and slice, or a flat index."""

    batch: Operand = 0
    row: Operand = 0
    column: Operand = 0
    slice: Operand = 0
    _: KW_ONLY
    index: Operand = 0
    # How many elements of a row follow from the flat index on; 0 for that element alone.
    lanes: int = 0
    some: range = range(0)  # Which of these are stored; empty for all.
    # The number of the row among all, and the place in it, if the kernel has them at hand.
    within: tuple[Operand, Operand] | None = None

    def coordinates(self, shape: Shape) -> list[Expression]:
        """Those of the flat index along each axis of a tensor of that shape."""
        if self.within is None:
            return [coordinate(self.index, axis, shape) for axis in range(len(shape))]
        (row, place), rows = self.within, shape[:-1]
        return [*(coordinate(row, axis, rows) for axis in range(len(rows))), expression(place)]


@dataclass(frozen=True)
class Accessor(ABC):
    """How a kernel reads and writes a tensor; each layout is a class."""

    memory: Buffer
    codec: Codec
    # Start of the tensor in the array, in what the layout counts.
    base: int = field(default=0, kw_only=True)
    # How several neighbouring pixels are stored at once, if they are.
    join: Join | None = field(default=None, kw_only=True)

    row_major = True  # Whether the tensor lies in memory as on the host.
    # Whether reading a slice contains its index more than once, which then must not change it.
    repeats_index = False
    pairs = False  # Whether an element of the array is two slices.

    @property
    def array(self) -> str:
        return self.memory.name

    @property
    def lanes(self) -> int:
        return self.memory.lanes

    @property
    def texel(self) -> int:
        """Bytes of a texel of an image; 0 for a buffer."""
        return self.memory.texel

    @property
    def element(self) -> str:
        """The type of an element in the kernel: float or int."""
        return self.codec.element

    @property
    def with_sign(self) -> bool:
        return self.codec.with_sign

    @property
    def stored(self) -> str:
        """The kind of the array's elements, as `Language.element` takes it."""
        return self.join.stored if self.join else self.codec.stored

    @property
    def together(self) -> int:
        """Neighbouring pixels that are stored at once."""
        return self.join.together if self.join else 1

    @property
    @abstractmethod
    def repeats(self) -> bool:
        """Whether the store contains the value's expression more than once."""

    @property
    @abstractmethod
    def gaps(self) -> bool:
        """Whether there are gaps between the tensor's elements."""

    @abstractmethod
    def flattened(self) -> Accessor:
        """The same tensor with height and width as one axis."""

    @abstractmethod
    def in_runs(self, length: int, pitch: int) -> Accessor | None:
        """The same tensor in runs of elements, a pitch apart; None if a run splits an axis."""

    def in_image(self, texel: int) -> Accessor:
        """The same tensor as an image with texels of `texel` bytes, if images can hold it."""
        return self

    def joined(self, pixels: int, writes: bool, target: Target) -> Accessor:
        """The same tensor by several neighbouring pixels at once, as many as possible.

        The tensor stays as it is if the language or the device do not gain by that, or if `pixels`
        pixels, or a row, are not a whole number of elements.
        """
        return self

    def widened(self) -> Accessor:
        """The same tensor for epilogues, which compute with floats."""
        return self

    @abstractmethod
    def index_of(self, position: Position) -> Expression:
        """The index in the array of what lies at a position."""

    @abstractmethod
    def write(self, position: Position, value: Expression) -> Statements:
        """The statements that store a slice or an element at a position."""

    def keep_tail(self, position: Position, value: Expression) -> Expression:
        """The value with the lanes past the last channel set to zero, if there are any."""
        return value

    def entry(self, index: Operand) -> Expression:
        """An element of the tensor by its number, where it is a row."""
        raise NotImplementedError

    def entries(self, indices: Expression) -> Expression:
        """In each lane of a slice the element whose number is that lane of a variable."""
        lanes = self.memory.lanes
        each = (self.entry(lane(indices, number, lanes)) for number in range(lanes))
        return self.memory.language.made(FLOATS, lanes, *each)

    def broadcast(self, position: Position, shape: Shape) -> Expression:
        """What a position of a tensor of shape `shape` needs, to which this one broadcasts.

        A tensor with fewer channels, but more than one, is zero past its last channel.
        """
        raise NotImplementedError


def stored_from(index: Expression, stored: Callable[[Expression], Statements]) -> Statements:
    """What stores lanes from an index on, which gets a name if it is repeated."""
    start, further = index.constant_apart
    found = stored(index)
    if start.simple or found.length < 2:
        return found
    named = Declare(INT, "to", value=start)
    return body(Copy(body(named, *stored(Name("to") + further).items)))


def spread(sizes: Sequence[int], length: int, pitch: int) -> tuple[int, ...] | None:
    """Axis sizes that give the strides of runs of `length` elements that start `pitch` apart.

    None if a run does not end where one of the nested axes does.

    >>> spread((2, 5, 7), 2 * 5 * 7, 6 * 5 * 7), spread((2, 5, 7), 4, 9)
    ((6, 5, 7), None)
    """
    for axis in reversed(range(len(sizes))):
        inner = prod(sizes[axis + 1 :])
        if sizes[axis] * inner == length and pitch % inner == 0:
            return (*sizes[:axis], pitch // inner, *sizes[axis + 1 :])
    return None
