"""Instructions of a processor that kernels use by name, and kernels that show whether they can.

A kernel uses an instruction where the macro is defined that has its name in capitals. A driver's
compiler may not know the instruction, or may end the process over it, so that it is tried first. So
are functions of the system, which a driver may or may not find for a kernel. Instructions are in
functions, as PoCL 6 compiles no kernel with assembler's text in it.
"""

from collections.abc import Mapping

from ..frozen import dataclass
from ..processor import instructions


@dataclass(frozen=True)
class Example:
    """A kernel `probe` of one work-item with one instruction, as the compiler writes it."""

    lanes: int  # The vectors that the device must prefer for an instruction; 0 for a function.
    source: str
    words: tuple[int, ...]  # The integers that the kernel reads.
    results: tuple[int, ...]  # Those that it writes.


_VNNI = """
#ifndef __x86_64__
typedef uchar uchar64 __attribute__((ext_vector_type(64)));
int16 vpdpbusd(int16 sum, uchar64 bytes, uchar64 weights) __asm("llvm.x86.avx512.vpdpbusd.512");
#endif

static __attribute__((noinline, min_vector_width(512)))
void item(__global const int16 *x, __global int16 *y) {
#ifdef __x86_64__
  int16 sum = x[0];
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x[1]), "v"(x[2]));
  y[0] = sum;
#else
  y[0] = vpdpbusd(x[0], __builtin_astype(x[1], uchar64), __builtin_astype(x[2], uchar64));
#endif
}

__kernel void probe(__global const int16 *x, __global int16 *y) { item(x, y); }
"""
_BYTES, _WEIGHTS = (1, 2, 3, 255), (-1, 127, -128, -128)
_SUM = sum(byte * weight for byte, weight in zip(_BYTES, _WEIGHTS, strict=True))


def _words(four: tuple[int, ...]) -> tuple[int, ...]:
    """A vector of 16 integers that each hold these bytes."""
    packed = bytes(number & 255 for number in four)
    return (int.from_bytes(packed, "little", signed=True),) * 16


_VBMI = """
#ifndef __x86_64__
typedef uchar uchar64 __attribute__((ext_vector_type(64)));
uchar64 vpermi2b(uchar64 first, uchar64 places, uchar64 second)
    __asm("llvm.x86.avx512.vpermi2var.qi.512");
#endif

static __attribute__((noinline, min_vector_width(512)))
void item(__global const int16 *x, __global int16 *y) {
#ifdef __x86_64__
  int16 found = x[0];
  __asm__("vpermi2b %2, %1, %0" : "+v"(found) : "v"(x[1]), "v"(x[2]));
  y[0] = found;
#else
  uchar64 first = __builtin_astype(x[1], uchar64), second = __builtin_astype(x[2], uchar64);
  y[0] = __builtin_astype(vpermi2b(first, __builtin_astype(x[0], uchar64), second), int16);
#endif
}

__kernel void probe(__global const int16 *x, __global int16 *y) { item(x, y); }
"""

_NANOSLEEP = """
int nanosleep(const long *time, long *rest);

__kernel void probe(__global const int *x, __global int *y) {
  long time[2] = {0, x[0]};
  y[0] = nanosleep(time, 0);
}
"""

EXAMPLES: Mapping[str, Example] = {
    "avx512_vnni": Example(
        lanes=16,
        source=_VNNI,
        words=(*range(16), *_words(_BYTES), *_words(_WEIGHTS)),
        results=tuple(lane + _SUM for lane in range(16)),
    ),
    "avx512vbmi": Example(
        lanes=16,
        source=_VBMI,
        words=(*range(0, 128, 8), *_words((7, 8, 9, 10)), *_words((20, 21, 22, 23))),
        results=(7 * 0x01010101,) * 8 + (0x07070714,) * 8,
    ),
    "nanosleep": Example(lanes=0, source=_NANOSLEEP, words=(1000,), results=(0,)),
}


def examples(lanes: int) -> dict[str, Example]:
    """Those of functions, and of this processor's instructions, for a device of so many lanes."""
    have = {name: EXAMPLES[name].lanes for name in instructions() & EXAMPLES.keys()}
    return {
        name: each for name, each in EXAMPLES.items() if not each.lanes or have.get(name) == lanes
    }
