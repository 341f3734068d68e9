"""The builder that lowerings of quantized operators are written with, and their registry."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...ir import Array, Deferred, Tensor, constant
from ...ops.elementwise.centered import FROM_CENTERED, TO_CENTERED
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.elementwise.fixed_point import FixedPoint, fixed_point
from ..decompose.decomposition import Decomposition, Results

# The quantized types, and the least and greatest integer of each.
INTEGERS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}

# The types of weights that are held as int8, and how many of them a byte of the file has.
PACKED = {"int2": 4, "int4": 2}

WEIGHTS = (*INTEGERS, *PACKED)  # The types of quantized constants.
EXACT = 1 << 24  # Whole numbers up to this are exact in float32.

# The operands by whose scales LiteRT divides. Those of other operators may be int16 of scale 0,
# which converters give to zeros; XNNPACK takes no such tensors of 8 bits.
DIVISORS = {"ADD": (0, 1), "DIV": (1,), "EQUAL": (0, 1), "NOT_EQUAL": (0, 1), "SUB": (0, 1)}

INT32 = 2**31 - 1


class Lowering(Decomposition):
    """The float operators that take the place of a quantized one."""

    def declined(self, reason: str, advice: str = "", unsafe: bool = False) -> UnsupportedError:
        """The error to raise for an operator that has no formula; see `Finding`."""
        return self.op.unsupported(reason, advice, unsafe)

    def require_exact(self, most: float) -> None:
        """Decline sums of whole numbers whose absolute value may reach `most`, beyond EXACT."""
        if most > EXACT:
            raise self.declined(
                f"its sums may reach {most:.0f}, but float32 holds whole numbers up to {EXACT} only"
            )

    def require_result(self, operand: Tensor, *others: str) -> None:
        """Decline a result that has neither the operand's type nor one of the others."""
        dtype = self.op.output.dtype
        if dtype not in (operand.dtype, *others):
            raise self.declined(
                f"its result is {dtype}, beside which LiteRT takes {operand.dtype} "
                "for another type",
                f"give it a result of {operand.dtype}",
                unsafe=True,
            )

    def require_unpacked(self, tensors: Iterable[Tensor]) -> None:
        """Decline packed integers among tensors that are no weights."""
        for tensor in tensors:
            if tensor.dtype in PACKED:
                raise self.declined(
                    f"it computes {tensor.dtype}, of which only weights and tables are known"
                )

    # -- quantization -----------------------------------------------------------------------

    def scales(self, tensor: Tensor, dtypes: Collection[str] = WEIGHTS) -> Array:
        """The scales of a tensor of these types, float32 [] or [channels] (UnsupportedError).

        It is 0 only of operands of int16 that LiteRT computes with.
        """
        if tensor.quantization is None or tensor.dtype not in dtypes:
            raise self.declined(f"tensor {tensor.name} ({tensor.dtype}) is not quantized")
        scales = np.asarray(tensor.quantization.scale, np.float32)
        computes = tensor.dtype == "int16" and tensor not in self.op.outputs
        divides = any(tensor is self.op.input(each) for each in DIVISORS.get(self.op.name, ()))
        if not scales.all() and (divides or not computes):
            raise self.declined(f"the quantization scale of tensor {tensor.name} is 0")
        return scales if scales.size > 1 else scales.reshape(())

    def scale(self, tensor: Tensor, dtypes: Collection[str] = WEIGHTS) -> Array:
        """The scale of a tensor that is quantized as a whole, of shape [].

        UnsupportedError if each channel has its own, for which most of LiteRT's kernels take 0.
        """
        scale = self.scales(tensor, dtypes)
        if scale.ndim:
            raise self.declined(
                f"tensor {tensor.name} has a scale for each channel, which LiteRT takes for 0",
                advice="quantize it with one scale, or keep the operator in float",
            )
        return scale

    def zero(self, tensor: Tensor) -> int:
        """The zero point of a tensor, 0 if not quantized (UnsupportedError if channels differ)."""
        if tensor.quantization is None:
            return 0
        points = set(tensor.quantization.zero_point or (0,))
        if len(points) > 1:
            raise self.declined(f"tensor {tensor.name} has a zero point for each channel")
        return points.pop()

    def reach(self, tensor: Tensor) -> int:
        """The greatest distance of an integer of a tensor from its zero point."""
        low, high = INTEGERS[tensor.dtype]
        zero = self.zero(tensor)
        return max(high - zero, zero - low)

    def bounds(self, tensor: Tensor, round_to: Callable[[Any], Any] = np.rint) -> tuple[int, int]:
        """The least and greatest centered integer of a result, with the fused activation.

        `round_to` rounds the activation's limits to integers. XNNPACK rounds ties to even stored
        integers, so the zero point is added before. UnsupportedError for limits LiteRT cannot hold.
        """
        zero = self.zero(tensor)
        low, high = INTEGERS[tensor.dtype]
        least, most = LIMITS[self.op.attrs.get("fused_activation_function", "NONE")]
        low, high = low - zero, high - zero
        limits = [abs(limit) for limit in (least, most) if limit is not None]
        scale = self.scale(tensor) if limits else np.float32(1)
        if tensor.dtype == "int16" and limits and max(limits) / float(scale) >= 2**31:
            raise self.declined(
                f"the limit of its activation, {max(limits):g}, is beyond 32 bits in the scale of "
                "its result, which LiteRT leaves undefined"
            )
        moved = zero if round_to is np.rint else 0
        if least is not None:
            low = max(low, int(round_to(np.float32(least) / scale + np.float32(moved))) - moved)
        if most is not None:
            high = min(high, int(round_to(np.float32(most) / scale + np.float32(moved))) - moved)
        return low, high

    def unlike(self, tensor: Tensor, other: Tensor) -> bool:
        """Whether equal integers of two tensors stand for different real numbers."""
        if tensor.dtype not in INTEGERS:
            return False
        same = tensor.dtype == other.dtype and self.zero(tensor) == self.zero(other)
        return not same or not np.array_equal(self.scales(tensor), self.scales(other))

    def fixed_point(self, factor: float | np.floating[Any] | Array) -> FixedPoint:
        """A factor as LiteRT multiplies by it (UnsupportedError if shifted by 32 bits or more)."""
        number = fixed_point(float(factor))
        if number.exponent > 31:
            raise self.undefined_shift(number.exponent)
        return number

    def undefined_shift(self, bits: int) -> UnsupportedError:
        """The error to raise where LiteRT shifts integers of 32 bits by so many."""
        return self.declined(
            f"a scale is so large that LiteRT shifts by {bits} bits, whose result is undefined"
        )

    # -- values -----------------------------------------------------------------------------

    def centered(self, tensor: Tensor) -> Tensor:
        """An operand less its zero point, as float32 of the same shape; floats are left alone."""
        if tensor.dtype not in WEIGHTS:
            return tensor
        zero = self.zero(tensor)
        if tensor.constant:
            values = Deferred(tensor.shape, np.dtype(np.float32), lambda: _less(tensor, zero))
            return constant(f"{tensor.name}/centered", values, tied=tensor.tied)
        return self.add(TO_CENTERED, tensor, dtype="float32", zero_point=zero)

    def stored(self, value: Tensor, like: Tensor) -> Tensor:
        """Centered integers (float32) as a tensor of the type and quantization of `like`."""
        if like.dtype not in INTEGERS or value.dtype == like.dtype:
            return value
        zero = self.zero(like)
        result = self.add(FROM_CENTERED, value, dtype=like.dtype, zero_point=zero)
        result.quantization = like.quantization
        return result

    def rounded(
        self, row: str, *operands: Tensor, bounds: tuple[int, int] | None = None, **numbers: Any
    ) -> Tensor:
        """The result of a row of `ops/elementwise/rounding.py` or one like it, within `bounds`.

        They are those of the operator's own result if they are left out.
        """
        limit = int if ELEMENTWISE[row].whole else float
        low, high = map(limit, bounds or self.bounds(self.op.output))
        plain: dict[str, Any] = {
            n: tuple(v) if isinstance(v, FixedPoint) else v for n, v in numbers.items()
        }
        return self.add(row, *operands, **plain, low=low, high=high)

    def reinterpreted(self, value: Tensor, source: Tensor, result: Tensor) -> Tensor:
        """Centered integers of `source` as those of `result`, which stores the same integers.

        LiteRT moves integers without regard to the scale and zero point on either side.
        """
        apart = self.zero(source) - self.zero(result)
        return self.add("tflgpu.add_exact", value, self.constant(apart)) if apart else value

    def stored_results(self, values: Results) -> list[Tensor]:
        """What replaces the operator's outputs; centered integers among it are stored as these."""
        values = [values] if isinstance(values, Tensor) else values
        return [self.stored(*pair) for pair in zip(values, self.op.outputs, strict=True)]


def _less(tensor: Tensor, zero: int) -> Array:
    """A constant of integers less their zero point, as float32."""
    values = tensor.values.astype(np.float32)
    if zero:
        values -= np.float32(zero)
    return values


# The least and the greatest result of each activation that can be fused.
LIMITS: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}

# Adds the operators that replace a quantized one, and returns what replaces its outputs: centered
# integers or what they are stored as (UnsupportedError where it has no formula).
Lower = Callable[[Lowering], Results]

LOWERINGS: dict[str, Lower] = {}


def lowers(*names: str) -> Callable[[Lower], Lower]:
    """Register a function as what lowers those operators where they are quantized."""

    def register(function: Lower) -> Lower:
        LOWERINGS.update(dict.fromkeys(names, function))
        return function

    return register
