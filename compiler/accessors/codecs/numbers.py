"""Elements of row-major tensors: floats and integers, of 32 bits or narrower."""

from dataclasses import dataclass

from ...language.expression import Expression, Operand
from ...language.primary import Call, Cast
from ...language.statement import Statement
from ...language.types import FLOAT, FLOATS, INT
from ..memory import Buffer
from .codec import ElementCodec

# The intrinsic that makes integers of a slice of floats, by their type in memory.
_WHOLE_NUMBERS = {
    "": "whole_numbers",
    "int8": "int8_numbers",
    "uint8": "uint8_numbers",
    "uint16": "uint16_numbers",
}


@dataclass(frozen=True)
class Numbers(ElementCodec):
    """Floats or integers, each an element of the array."""

    element: str = FLOAT
    zero_point: int | None = None
    narrow: str = ""  # int8, uint8 or uint16 if integers are stored so; "" for 32 bits.

    @property
    def stored(self) -> str:  # type: ignore[override]
        return self.narrow or (self.element if self.zero_point is None else INT)

    @property
    def with_sign(self) -> bool:  # type: ignore[override]
        return self.narrow == "int8"

    def at(self, memory: Buffer, index: Operand) -> Expression:
        return memory.element(index, self._kind)

    def load_from(self, memory: Buffer, start: Operand, offset: Operand) -> Expression:
        return self._value(memory.near(start, offset, self._kind))

    @property
    def _kind(self) -> str:
        """The type of what is stored, as kernels compute with it."""
        return FLOAT if self.element == FLOAT and not self.narrow else INT

    @property
    def _whole_numbers(self) -> str:  # type: ignore[override]
        return _WHOLE_NUMBERS[self.narrow]

    def _value(self, stored: Expression) -> Expression:
        # Functions such as max() do not take a char together with an int.
        if not self.narrow:
            return self._less_zero(stored)
        return self._widened(Cast(self.element, stored, self.element), Cast(INT, stored, INT))

    def _widened(self, value: Expression, stored: Expression) -> Expression:
        """The value of a narrow integer, which is one, too."""
        found = self._less_zero(value)
        found.whole = stored - (self.zero_point or 0)
        return found


@dataclass(frozen=True)
class _Intrinsics:
    read: str
    store: str
    store_slice: str
    store_words: str  # Stores a slice that begins with a word.


_INTRINSICS = {
    "int8": _Intrinsics("int8_at", "set_byte", "set_bytes", "store_word"),
    "uint8": _Intrinsics("uint8_at", "set_byte", "set_bytes", "store_word"),
    "uint16": _Intrinsics("uint16_at", "set_short", "set_shorts", "store_two_words"),
}


@dataclass(frozen=True)
class Packed(Numbers):
    """Narrow integers that share words, in languages without arrays of them.

    One of them is stored by an atomic operation, as other work-items may store the rest of its
    word.
    """

    packed = True
    _whole_numbers = "whole_numbers"

    @property
    def _calls(self) -> _Intrinsics:
        return _INTRINSICS[self.narrow]

    def at(self, memory: Buffer, index: Operand) -> Expression:
        return memory.call(self._calls.read, index, kind=INT)

    def put(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        return memory.do(self._calls.store, index, value)

    def load_from(self, memory: Buffer, start: Operand, offset: Operand) -> Expression:
        return self.load(memory, start + offset)

    def load_lanes(self, memory: Buffer, index: Operand) -> Expression:
        lanes = (self.load(memory, index + number) for number in range(memory.lanes))
        return Call(f"vec{memory.lanes}", *lanes, type=FLOATS)

    def save_lanes(
        self, memory: Buffer, index: Operand, value: Operand, aligned: bool = False
    ) -> Statement:
        store = self._calls.store_words if aligned else self._calls.store_slice
        return memory.do(store, index, self._integers(memory, self._whole_numbers, value))

    def _value(self, stored: Expression) -> Expression:
        if self.element == INT:
            return stored
        return self._widened(Call("float", stored, type=FLOAT), stored)
