"""Barriers, and elements and slices of row-major arrays and of arrays of slices."""

from typing import Any

from ..language.expression import Expression, Operation
from ..language.primary import Array, Call, Element
from ..language.statement import Assign
from ..language.types import FLOAT
from .intrinsic import intrinsic


def _load_lanes(f: Any, array: Array, offset: Expression) -> Any:
    return f.floats(*(array(offset + n) for n in range(f.lanes)))


def _load_integers(f: Any, array: Array, offset: Expression) -> Any:
    return f.floats(*(f.to_float(array(offset + n)) for n in range(f.lanes)))


def _store_lanes(f: Any, array: Array, offset: Expression, value: Expression) -> list[Assign]:
    return [Assign(array(offset + n), "=", each) for n, each in enumerate(f.each_lane(value))]


# fmt: off
MEMORY = (
    intrinsic("wait_for_group",
        "barrier of the work-group, after which what the others wrote to shared memory is visible",
        opencl="barrier(CLK_LOCAL_MEM_FENCE)", glsl="memoryBarrierShared(), barrier()",
        wgsl=lambda f: Call("barrier")),
    intrinsic("element_of array start:int offset:int",
        "an element at an offset from an address, for which compilers for CPUs generate better "
        "code",
        opencl="((array) + (start))[offset]"),
    intrinsic("lane_of array index:int lane:int -> float", "one lane of a slice in memory",
        opencl="((__global const float*)((array) + (index)))[lane]"),
    intrinsic("float_at array:floats[] index:int -> float",
        "a float of an array of slices, by its index",
        lambda f, array, index: Element(array(index // 4), index % 4, FLOAT),
        opencl="((__global const float*)(array))[index]"),
    intrinsic("floats_at array:floats[] indices:ints -> floats",
        "for each lane the float whose index is that lane of a slice of integers",
        lambda f, array, indices: f.floats(*(f.float_at(array, i) for i in f.each_lane(indices)))),
    intrinsic("set_lane array:floats[] index:int lane:int value:float",
        "store one lane of a slice in memory",
        lambda f, array, index, lane, value: Assign(Element(array(index), lane, FLOAT), "=", value),
        opencl="((__global float*)((array) + (index)))[lane] = (value)"),
    # PoCL's vload and vstore take vectors apart, and LLVM then computes with pairs of floats.
    intrinsic("lanes_at array:float[] offset:int -> floats", "S floats of a row-major tensor",
        _load_lanes, opencl="""
{% if S == 4 %}
#define lanes_at(array, offset) vload4(0, (array) + (offset))
{% else %}
{{ floatS }} lanes_at(__global const float* array, int offset) {
  typedef {{ floatS }} unaligned __attribute__((aligned(4)));
  return *(__global const unaligned*)(array + offset);
}
{% endif %}"""),
    intrinsic("set_lanes_at array:float[] offset:int value:floats",
        "store S floats in a row-major tensor", _store_lanes, opencl="""
{% if S == 4 %}
#define set_lanes_at(array, offset, value) vstore4(value, 0, (array) + (offset))
{% else %}
void set_lanes_at(__global float* array, int offset, {{ floatS }} value) {
  typedef {{ floatS }} unaligned __attribute__((aligned(4)));
  *(__global unaligned*)(array + offset) = value;
}
{% endif %}"""),
    intrinsic("load_lanes array:float[] offset:int -> floats", "S floats of a row-major array",
        _load_lanes, opencl="vload{{ S }}(0, (array) + (offset))"),
    intrinsic("store_lanes array:float[] offset:int value:floats",
        "store S floats in a row-major array", _store_lanes,
        opencl="vstore{{ S }}(value, 0, (array) + (offset))"),
    # Additions whatever the sign is, so that kernels that differ in numbers alone have one form.
    intrinsic("whole_number v:float other:int -> int",
        "a float that holds a whole number, converted to an integer, plus `other`",
        lambda f, v, other: Operation("+", f.to_int(v), other)),
    intrinsic("whole_numbers v:floats other:int -> ints", "the same for a slice",
        lambda f, v, other: Operation("+", f.to_int(v), other)),
    intrinsic("int8_numbers v:floats other:int -> ints", "the same for a slice, as int8",
        opencl="convert_char{{ S }}(convert_int{{ S }}(v) + (other))"),
    intrinsic("uint8_numbers v:floats other:int -> ints", "the same for a slice, as uint8",
        opencl="convert_uchar{{ S }}(convert_int{{ S }}(v) + (other))"),
    intrinsic("uint16_numbers v:floats other:int -> ints", "the same for a slice, as uint16",
        opencl="convert_ushort{{ S }}(convert_int{{ S }}(v) + (other))"),
    intrinsic("load_integers array:int[] offset:int -> floats",
        "S integers of a row-major array as floats", _load_integers,
        opencl="convert_float{{ S }}(vload{{ S }}(0, (array) + (offset)))"),
)
# fmt: on
