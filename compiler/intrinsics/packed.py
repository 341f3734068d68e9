"""Bytes, shorts and halves, which share words where a language has no arrays of them."""

from typing import Any

from ..language.expression import Expression, Word
from ..language.primary import Array, Call, Element, Member
from ..language.statement import Assign, Evaluate
from ..language.types import FLOAT, FLOATS, UINT, UINTS
from .intrinsic import Formula, intrinsic

Stores = list[Assign | Evaluate]


def _part(word: Expression, number: Expression, bits: int) -> Expression:
    """One of the integers of so many bits in a word, with its sign if the word has one."""
    return Call("bitfieldExtract", word, number * bits, bits, type=word.type)


def _word_at(array: Array, index: Expression, bits: int) -> tuple[Expression, Expression]:
    """The word that holds an integer of so many bits, and the number of the integer in it."""
    several = 32 // bits
    return array(index >> several.bit_length() - 1), index & several - 1


def _part_at(bits: int) -> Formula:
    return lambda f, array, index: f.to_int(_part(*_word_at(array, index, bits), bits))


def _set_part(bits: int) -> Formula:
    def formula(f: Any, array: Array, index: Expression, value: Expression) -> Stores:
        word, number = _word_at(array, index, bits)
        all_ones, place = Word(2**bits - 1), number * bits
        part = f.to_uint(value) & all_ones
        return [
            Evaluate(Call("atomicAnd", word, ~(all_ones << place))),
            Evaluate(Call("atomicOr", word, part << place)),
        ]

    return formula


def _set_each(name: str) -> Formula:
    """Stores lane by lane."""

    def formula(f: Any, array: Array, index: Expression, value: Expression) -> Stores:
        store, lanes = f.use.function(name), enumerate(f.each_lane(value))
        return [Evaluate(store(array, index + n, each)) for n, each in lanes]

    return formula


def _store_two_words(f: Any, array: Array, index: Expression, value: Expression) -> Stores:
    words, first = f.in_shorts(f.to_uints(value) & 65535), index >> 1
    return [Assign(array(first + n), "=", Member(words, "xy"[n], UINT)) for n in range(2)]


def _half_of(words: Expression, number: Expression) -> Expression:
    return Element(Call("unpackHalf2x16", words, type="vec2"), number % 2, FLOAT)


def _from_halves(f: Any, v: Expression) -> Expression:
    pairs = (Call("unpackHalf2x16", Member(v, each, UINT), type="vec2") for each in "xy")
    return Call("vec4", *pairs, type=FLOATS)


def _store_half(f: Any, array: Array, index: Expression, value: Expression) -> Stores:
    pairs = (Member(value, each, "vec2") for each in ("xy", "zw"))
    words = (Call("packHalf2x16", each, type=UINT) for each in pairs)
    return [Assign(array(index), "=", Call("uvec2", *words, type="uvec2"))]


def _load_shorts(f: Any, array: Array, index: Expression, least: Expression) -> Expression:
    shorts = Member(array(index), "xxyy", UINTS) >> f.to_uints(0, 16, 0, 16) & 65535
    return Call("vec4", shorts, type=FLOATS) + least


# fmt: off
PACKED = (
    intrinsic("int8_at array:uint[] index:int -> int",
        "a signed byte of an array of 32-bit words, each with its first byte in the lowest bits",
        glsl=lambda f, array, index: _part(f.to_int(array(index >> 2)), index & 3, 8)),
    intrinsic("uint8_at array:uint[] index:int -> int", "the same for an unsigned byte",
        glsl=_part_at(8)),
    intrinsic("set_byte array:uint[] index:int value:int",
        "store a byte in an array of words; other work-items may store the other bytes of the word",
        glsl=_set_part(8)),
    intrinsic("set_bytes array:uint[] index:int value:ints", "the same for a slice of integers",
        glsl=_set_each("set_byte")),
    intrinsic("store_word array:uint[] index:int value:ints",
        "store a slice of integers in a word of its own; `index` counts bytes",
        glsl=lambda f, array, index, value: (
            Assign(array(index >> 2), "=", f.in_bytes(f.to_uints(value) & 255)))),
    intrinsic("uint16_at array:uint[] index:int -> int",
        "an unsigned 16-bit integer of an array of words, each with its first integer in the lower "
        "bits",
        glsl=_part_at(16)),
    intrinsic("set_short array:uint[] index:int value:int",
        "store 16 bits in an array of words; other work-items may store the other bits of the word",
        glsl=_set_part(16)),
    intrinsic("set_shorts array:uint[] index:int value:ints", "the same for a slice of integers",
        glsl=_set_each("set_short")),
    intrinsic("store_two_words array:uint[] index:int value:ints",
        "store a slice of integers of 16 bits in two words of its own; `index` counts shorts",
        glsl=_store_two_words),
    intrinsic("load_rgba8 array:uint[] index:int -> rgba",
        "four bytes of a row-major array as floats; in GLSL `index` is a multiple of 4",
        opencl="convert_float4(vload4(0, (array) + (index)))",
        glsl=lambda f, array, index: f.from_bytes(array(index >> 2))),
    intrinsic("load_rgb8 array:uint[] index:int -> rgb",
        "three bytes of a row-major array as floats",
        opencl="convert_float3(vload3(0, (array) + (index)))",
        glsl=lambda f, array, i: Call("vec3", *(f.uint8_at(array, i + n) for n in range(3)))),
    intrinsic("half_at array:uint[] index:int -> float",
        "an element of a row-major array in half precision", opencl="vload_half(index, array)",
        glsl=lambda f, array, index: _half_of(array(index // 2), index)),
    intrinsic("load_half array:uvec2[] index:int -> floats",
        "a slice that is stored in half precision", opencl="vload_half{{ S }}(index, array)",
        glsl=lambda f, array, index: f.from_halves(array(index))),
    intrinsic("lane_of_halves array index:int lane:int -> half",
        "one lane of a slice of halves in memory",
        opencl="((__global const half*)((array) + (index)))[lane]"),
    intrinsic("halves_of v:uvec2 -> halves", "four halves from two integers that hold two each",
        vulkan="""
f16vec4 halves_of(uvec2 v) {
  return f16vec4(unpackFloat2x16(v.x), unpackFloat2x16(v.y));
}"""),
    intrinsic("words_at array index:int -> uvec2",
        "a slice of halves of an array of pairs of them, as two integers that hold two halves each",
        vulkan="""
uvec2 words_of(uvec4 pair, int index) {
  return (index & 1) == 0 ? pair.xy : pair.zw;
}
#define words_at(array, index) words_of(array[(index) >> 1], index)"""),
    intrinsic("half_words v:floats -> uvec2",
        "two integers that hold two of four numbers in half precision each",
        vulkan="uvec2(packHalf2x16((v).xy), packHalf2x16((v).zw))"),
    intrinsic("pairs2 -> pairs2",
        "the slices in half precision of four pixels, which are stored at once", vulkan="""
struct pairs2 { uvec4 pair[2]; };"""),
    intrinsic("pairs4 -> pairs4", "the same for eight pixels", vulkan="""
struct pairs4 { uvec4 pair[4]; };"""),
    intrinsic("load_medium array:uvec2[] index:int -> floats",
        "a slice that is stored in half precision, to compute with in `mediump`",
        glsl="medium_halves(array[index])", needs=("medium_halves",)),
    intrinsic("medium_halves v:uvec2 -> floats",
        "four numbers in `mediump` from two integers that hold two in half precision each", glsl="""
mediump vec4 medium_halves(uvec2 v) {
  return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y));
}"""),
    intrinsic("from_halves v:uvec2 -> floats",
        "four numbers from two integers that hold two in half precision each", glsl=_from_halves,
        function=True),
    intrinsic("half_lane array:uvec2[] index:int lane:int -> float",
        "one lane of a slice that is stored in half precision",
        opencl="vload_half((index) * {{ S }} + (lane), array)",
        glsl=lambda f, array, index, lane: _half_of(Element(array(index), lane // 2, UINT), lane)),
    intrinsic("store_half array:uvec2[] index:int value:floats", "store a slice in half precision",
        opencl="vstore_half{{ S }}_rte(value, index, array)", glsl=_store_half),
    intrinsic("load_bytes array:uint[] index:int least:float -> floats",
        "a slice that is stored as bytes, where a byte of 0 stands for `least`",
        opencl="(convert_float{{ S }}(array[index]) + (least))",
        glsl=lambda f, array, index, least: f.from_bytes(array(index)) + least),
    intrinsic("from_bytes v:uint -> floats", "four numbers from the bytes of an integer",
        glsl=lambda f, v: (
            Call("vec4", f.to_uints(v) >> f.to_uints(0, 8, 16, 24) & 255, type=FLOATS)),
        function=True),
    intrinsic("byte_lane array:uint[] index:int lane:int least:float -> float",
        "one lane of such a slice",
        opencl="((float)((__global const uchar*)((array) + (index)))[lane] + (least))",
        glsl=lambda f, array, index, lane, least: f.to_float(_part(array(index), lane, 8)) + least),
    intrinsic("store_bytes array:uint[] index:int value:floats least:float",
        "store a slice as bytes", opencl="array[index] = convert_uchar{{ S }}((value) - (least))",
        glsl=lambda f, array, index, v, least: (
            Assign(array(index), "=", f.in_bytes(f.to_uints(v - least))))),
    intrinsic("load_nibbles array:uint[] index:int least:float -> floats",
        "a slice that is stored in 4 bits, where 0 stands for `least`; a byte holds two slices",
        opencl="(convert_float{{ S }}((array[(index) >> 1] >> (uchar)((index) % 2 * 4))"
        " & (uchar)15) + (least))",
        glsl=lambda f, array, index, least: least + f.from_bytes(
            array(index >> 1) >> f.to_uint(index % 2 * 4) & Word(0x0F0F0F0F))),
    intrinsic("load_shorts array:uvec2[] index:int least:float -> floats",
        "a slice that is stored as integers of 16 bits, where 0 stands for `least`",
        opencl="(convert_float{{ S }}(array[index]) + (least))", glsl=_load_shorts),
    intrinsic("short_lane array:uvec2[] index:int lane:int least:float -> float",
        "one lane of such a slice",
        opencl="((float)((__global const ushort*)((array) + (index)))[lane] + (least))",
        glsl=lambda f, array, index, lane, least: (
            f.to_float(_part(Element(array(index), lane >> 1, UINT), lane & 1, 16)) + least)),
    intrinsic("store_shorts array:uvec2[] index:int value:floats least:float",
        "store a slice as integers of 16 bits",
        opencl="array[index] = convert_ushort{{ S }}((value) - (least))",
        glsl=lambda f, array, index, v, least: (
            Assign(array(index), "=", f.in_shorts(f.to_uints(v - least))))),
)
# fmt: on
