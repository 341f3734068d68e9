"""Four bytes in a word, as an integer, products of such words, and images of buffers."""

from typing import Any

from ..language.expression import Expression, Word
from ..language.primary import Call, Member
from ..language.types import INT, UINT
from .intrinsic import intrinsic


def _joined(words: Expression, bits: int) -> Expression:
    """The integers of so many bits in four words, in one of them."""
    joined: Expression = Member(words, "x", UINT)
    for number, each in enumerate("yzw", 1):
        joined |= Member(words, each, UINT) << number * bits
    return joined


def _byte_word(f: Any, v: Expression, number: Expression, least: Expression) -> Any:
    b = f.let("b", f.to_uints(v - least))
    return f.to_int(_joined(b, 8))


def _in_shorts(f: Any, v: Expression) -> Expression:
    return Member(v, "xz", "uvec2") | Member(v, "yw", "uvec2") << 16


def _add_signed_products(f: Any, sum: Expression, bytes: Expression, weights: Expression) -> Any:
    four = f.let("four", f.to_uint(bytes))
    each = f.let("each", f.to_uints(weights))
    words = (Member(each, lane, UINT) for lane in "xyzw")
    return sum + f.ints(*(Call("dot4I8Packed", four, word, type=INT) for word in words))


# fmt: off
BYTES = (
    intrinsic("bytes_at array:uint[] index:int number:int -> int",
        "four lanes of such a slice as an integer, the first in its lowest bits; `number` counts "
        "fours",
        opencl="((__global const int*)((array) + (index)))[number]",
        glsl=lambda f, array, index, number: f.to_int(array(index))),
    intrinsic("word_at array start:int offset:int -> int",
        "four bytes of a row-major array as an integer, the first in its lowest bits; by an "
        "address and a short way from it",
        opencl="as_int(vload4(0, (__global const uchar*)(array) + (start) + (offset)))"),
    intrinsic("part_of_word_at array place:int count:int -> int",
        "the same for fewer than four bytes; the others are 0", opencl="""
int part_of_word_at(__global const void* array, int place, int count) {
  __global const uchar* bytes = (__global const uchar*)array + place;
  return count == 1 ? bytes[0] : count == 2 ? bytes[0] | bytes[1] << 8
      : bytes[0] | bytes[1] << 8 | bytes[2] << 16;
}"""),
    intrinsic("lower_nibbles words:ints -> ints",
        "the lower four bits of each byte, moved to its upper four bits",
        lambda f, words: words << 4 & f.to_int(Word(0xF0F0F0F0))),
    intrinsic("upper_nibbles words:ints -> ints", "the upper four bits of each byte, in place",
        lambda f, words: words & f.to_int(Word(0xF0F0F0F0))),
    intrinsic("byte_word v:floats number:int least:float -> int",
        "four lanes of a slice of whole numbers as bytes, from `least` on; `number` counts fours",
        _byte_word, opencl="""
int byte_word({{ floatS }} v, int number, float least) {
{% if S == 16 %}
  return as_int4(convert_uchar16(v - least))[number];
{% else %}
  return as_int(convert_uchar4(v - least));
{% endif %}
}"""),
    intrinsic("add_products sum:ints bytes:int weights:ints -> ints",
        "sum plus, in each lane, the products of four bytes and the four bytes with a sign of a "
        "weight",
        opencl="""
{% if S > 4 %}
{% set four, two = ("AVX512_VNNI", "AVX512BW") if S == 16 else ("AVX_VNNI", "AVX2") %}
{% set plain, register = ("avx512.pmaddw.d.512", "v") if S == 16 else ("avx2.pmadd.wd", "x") %}
{% set uchars, shorts = "uchar%d" % (4 * S), "short%d" % (2 * S) %}
#if defined({{ four }}) || defined({{ two }})
typedef uchar {{ uchars }} __attribute__((ext_vector_type({{ 4 * S }})));
typedef short {{ shorts }} __attribute__((ext_vector_type({{ 2 * S }})));
typedef ushort u{{ shorts }} __attribute__((ext_vector_type({{ 2 * S }})));
#ifndef __x86_64__
// Compiled by way of SPIR, which has no assembler: LLVM's own names of the instructions.
{{ intS }} vpdpbusd({{ intS }} sum, {{ uchars }} bytes, {{ uchars }} weights)
    __asm("llvm.x86.avx512.vpdpbusd.{{ 32 * S }}");
{{ intS }} vpmaddwd({{ shorts }} a, {{ shorts }} b) __asm("llvm.x86.{{ plain }}");
#endif
#endif

{% endif %}
{{ intS }} add_products({{ intS }} sum, int bytes, {{ intS }} weights) {
{% if S > 4 %}
  // Instructions that the processor has, even if the driver's compiler takes it for an older one.
#if defined({{ four }}) && defined(__x86_64__)
  __asm__("{{ "%{vex%} " if S == 8 }}vpdpbusd %2, %1, %0" : "+{{ register }}"(sum)
      : "{{ register }}"(({{ intS }})(bytes)), "{{ register }}"(weights));
  return sum;
#elif defined({{ four }})
  return vpdpbusd(sum, __builtin_astype(({{ intS }})(bytes), {{ uchars }}),
      __builtin_astype(weights, {{ uchars }}));
#elif defined({{ two }})
  // Of pairs of 16 bits: the even bytes and the odd ones.
  {{ shorts }} pairs = __builtin_astype(weights, {{ shorts }});
  {{ shorts }} even = pairs << 8 >> 8, odd = pairs >> 8;
  u{{ shorts }} each = __builtin_astype(({{ intS }})(bytes), u{{ shorts }});
  u{{ shorts }} even_bytes = each & (u{{ shorts }})255, odd_bytes = each >> 8;
#ifdef __x86_64__
  {{ intS }} even_sums, odd_sums;
  __asm__("vpmaddwd %2, %1, %0" : "={{ register }}"(even_sums)
      : "{{ register }}"(even_bytes), "{{ register }}"(even));
  __asm__("vpmaddwd %2, %1, %0" : "={{ register }}"(odd_sums)
      : "{{ register }}"(odd_bytes), "{{ register }}"(odd));
  return sum + even_sums + odd_sums;
#else
  return sum + vpmaddwd(__builtin_astype(even_bytes, {{ shorts }}), even)
      + vpmaddwd(__builtin_astype(odd_bytes, {{ shorts }}), odd);
#endif
#else
{% else %}
#if defined(I8MM) || defined(ASIMDDP)
  int4 four = bytes;
#endif
#ifdef I8MM
  __asm__(".arch_extension i8mm\\nusdot %0.4s, %1.16b, %2.16b" : "+w"(sum)
      : "w"(four), "w"(weights));
  return sum;
#elif defined(ASIMDDP)
  // Of two bytes with a sign: 128 is taken from each byte, and 128 times the weights are added.
  int4 less = 0, each = 0x40404040;
  four ^= (int)0x80808080;
  __asm__(".arch_extension dotprod\\nsdot %0.4s, %1.16b, %2.16b" : "+w"(less)
      : "w"(each), "w"(weights));
  __asm__(".arch_extension dotprod\\nsdot %0.4s, %1.16b, %2.16b" : "+w"(sum)
      : "w"(four), "w"(weights));
  return sum + less + less;
#else
{% endif %}
  return sum + (bytes & 255) * (weights << 24 >> 24) + (bytes >> 8 & 255) * (weights << 16 >> 24)
      + (bytes >> 16 & 255) * (weights << 8 >> 24) + (bytes >> 24 & 255) * (weights >> 24);
#endif
}""", assembler_lanes=(4, 8, 16)),
    intrinsic("look_up_bytes array first:int places:ints least:float -> floats",
        "for each lane its entry in a table of 256 bytes, which starts at slice `first` of an "
        "array, plus `least`",
        opencl="""
{% if S == 16 %}
#if defined(AVX512VBMI) && !defined(__x86_64__)
typedef uchar uchar64 __attribute__((ext_vector_type(64)));
uchar64 vpermi2b(uchar64 first, uchar64 places, uchar64 second)
    __asm("llvm.x86.avx512.vpermi2var.qi.512");
#endif

{% endif %}
{{ floatS }} look_up_bytes(
    __global const {{ floatS }}* array, int first, {{ intS }} places, float least) {
{% if S == 16 %}
#ifdef AVX512VBMI
  // By the lowest seven bits of each byte; what is found for the three upper bytes of a lane goes.
#ifdef __x86_64__
  __global const int16* quarter = (__global const int16*)(array + first);
  int16 low = places, high = places;
  __asm__("vpermi2b %2, %1, %0" : "+v"(low) : "v"(quarter[0]), "v"(quarter[1]));
  __asm__("vpermi2b %2, %1, %0" : "+v"(high) : "v"(quarter[2]), "v"(quarter[3]));
#else
  uchar64 each = __builtin_astype(places, uchar64);
  __global const uchar64* quarter = (__global const uchar64*)(array + first);
  int16 low = __builtin_astype(vpermi2b(quarter[0], each, quarter[1]), int16);
  int16 high = __builtin_astype(vpermi2b(quarter[2], each, quarter[3]), int16);
#endif
  return convert_float16(select(low, high, places > 127) & 255) + least;
#endif
{% endif %}
  __global const uchar* entries = (__global const uchar*)(array + first);
  return ({{ floatS }})({{ for_lanes("entries[places.%s]") }}) + least;
}""", assembler_lanes=(16,)),
    intrinsic("add_signed_products sum:ints bytes:int weights:ints -> ints",
        "the same for bytes with a sign", opencl="""
{{ intS }} add_signed_products({{ intS }} sum, int bytes, {{ intS }} weights) {
#ifdef __opencl_c_integer_dot_product_input_4x8bit_packed
  return sum + ({{ intS }})({{ for_lanes("dot_4x8packed_ss_int(bytes, weights.%s)") }});
#else
  return sum + (bytes << 24 >> 24) * (weights << 24 >> 24)
      + (bytes << 16 >> 24) * (weights << 16 >> 24)
      + (bytes << 8 >> 24) * (weights << 8 >> 24) + (bytes >> 24) * (weights >> 24);
#endif
}""", vulkan="""
// OpSDot of integers that hold four bytes each.
spirv_instruction(
    extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int dot_of_bytes(int a, int b, spirv_literal int packed_vector_format);

ivec4 add_signed_products(ivec4 sum, int bytes, ivec4 weights) {
  return sum + ivec4(dot_of_bytes(bytes, weights.x, 0), dot_of_bytes(bytes, weights.y, 0),
      dot_of_bytes(bytes, weights.z, 0), dot_of_bytes(bytes, weights.w, 0));
}""", wgsl=_add_signed_products, extension="GL_EXT_spirv_intrinsics",
        device_extensions={"vulkan": "VK_KHR_shader_integer_dot_product"}),
    intrinsic("in_shorts v:uints -> uvec2", "four integers of 16 bits in two integers",
        glsl=_in_shorts, function=True),
    intrinsic("in_bytes v:uints -> uint", "four bytes in one integer",
        glsl=lambda f, v: _joined(v, 8), function=True),
    intrinsic("read_texel image index:int -> floats",
        "a slice of four lanes from an image of a buffer", opencl="read_imagef(image, index)"),
    intrinsic("read_half_texel image index:int -> halves", "the same in half precision",
        opencl="read_imageh(image, index)"),
    intrinsic("texel_lane image index:int lane:int -> float", "one lane of such a slice", opencl="""
float texel_lane(__read_only image1d_buffer_t image, int index, int lane) {
  float4 v = read_imagef(image, index);
  return lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w;
}"""),
)
# fmt: on
