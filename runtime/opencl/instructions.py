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


def _instruction(
    lanes: int,
    assembler: str,
    words: tuple[int, ...],
    result: int,
    register: str = "v",
    declared: str = "",
    called: str = "",
) -> Example:
    """An instruction that makes a vector of two, or of three of which it replaces the first.

    PoCL's compiler takes `assembler`; compilers by way of SPIR have none, but for x86's
    instructions LLVM's functions, which are `declared` and `called`. Each vector holds one of
    `words` in all lanes.
    """
    ints = f"int{lanes}"
    statement = (
        f'__asm__("{assembler}" : "+{register}"(sum) : "{register}"(first), "{register}"(second));'
    )
    if declared:
        declared = f"""
typedef uchar uchar{4 * lanes} __attribute__((ext_vector_type({4 * lanes})));
typedef short short{2 * lanes} __attribute__((ext_vector_type({2 * lanes})));
#ifndef __x86_64__
{declared}
#endif
"""
        statement = f"""
#ifdef __x86_64__
  {statement}
#else
  sum = __builtin_astype({called}, {ints});
#endif"""
    source = f"""{declared}
static __attribute__((noinline, min_vector_width({32 * lanes})))
void item(__global const {ints} *x, __global {ints} *y) {{
  {ints} sum = x[0], first = x[1], second = x[2];
  {statement}
  y[0] = sum;
}}

__kernel void probe(__global const {ints} *x, __global {ints} *y) {{ item(x, y); }}
"""
    return Example(lanes, source, tuple(w for w in words for _ in range(lanes)), (result,) * lanes)


def _word(*numbers: int) -> int:
    """An integer that holds these bytes, or pairs of them, the first in its lowest bits."""
    size = 4 // len(numbers)
    content = b"".join((number & 256**size - 1).to_bytes(size, "little") for number in numbers)
    return int.from_bytes(content, "little", signed=True)


# A sum, four bytes, and four bytes with a sign; and what is added up: the last of the four bytes is
# 255, or -1 where both have a sign.
_FOUR = (7, _word(1, 2, 3, 255), _word(-1, 127, -128, -128))
_SUM, _SIGNED_SUM = (7 - 1 + 2 * 127 - 3 * 128 - last * 128 for last in (255, -1))


def _products_of_four(lanes: int, assembler: str, register: str = "v") -> Example:
    """Sums of four products of a byte without a sign and one with a sign, on x86."""
    ints, uchars = f"int{lanes}", f"uchar{4 * lanes}"
    return _instruction(
        lanes,
        f"{assembler} %2, %1, %0",
        _FOUR,
        _SUM,
        register,
        f"{ints} vpdpbusd({ints} sum, {uchars} bytes, {uchars} weights) "
        f'__asm("llvm.x86.avx512.vpdpbusd.{32 * lanes}");',
        f"vpdpbusd(sum, __builtin_astype(first, {uchars}), __builtin_astype(second, {uchars}))",
    )


def _products_of_two(lanes: int, function: str, register: str = "v") -> Example:
    """Sums of two products of 16 bits, on x86."""
    ints, shorts = f"int{lanes}", f"short{2 * lanes}"
    return _instruction(
        lanes,
        "vpmaddwd %2, %1, %0",
        (7, _word(2, 255), _word(127, -128)),
        2 * 127 - 255 * 128,
        register,
        f'{ints} vpmaddwd({shorts} a, {shorts} b) __asm("llvm.x86.{function}");',
        f"vpmaddwd(__builtin_astype(first, {shorts}), __builtin_astype(second, {shorts}))",
    )


def _products_on_arm(extension: str, name: str, result: int) -> Example:
    """Sums of four products of two bytes, one or both with a sign, on Arm."""
    text = f".arch_extension {extension}\\n{name} %0.4s, %1.16b, %2.16b"
    return _instruction(4, text, _FOUR, result, "w")


_NANOSLEEP = """
int nanosleep(const long *time, long *rest);

__kernel void probe(__global const int *x, __global int *y) {
  long time[2] = {0, x[0]};
  y[0] = nanosleep(time, 0);
}
"""

EXAMPLES: Mapping[str, Example] = {
    "avx512_vnni": _products_of_four(16, "vpdpbusd"),
    "avx512bw": _products_of_two(16, "avx512.pmaddw.d.512"),
    "avx512vbmi": _instruction(
        16,
        "vpermi2b %2, %1, %0",
        (_word(0, 3, 64, 67), _word(7, 8, 9, 10), _word(20, 21, 22, 23)),
        _word(7, 10, 20, 23),
        declared="uchar64 vpermi2b(uchar64 first, uchar64 places, uchar64 second)\n"
        '    __asm("llvm.x86.avx512.vpermi2var.qi.512");',
        called="vpermi2b(__builtin_astype(first, uchar64), __builtin_astype(sum, uchar64), "
        "__builtin_astype(second, uchar64))",
    ),
    "avx_vnni": _products_of_four(8, "%{vex%} vpdpbusd", "x"),
    "avx2": _products_of_two(8, "avx2.pmadd.wd", "x"),
    "i8mm": _products_on_arm("i8mm", "usdot", _SUM),
    "asimddp": _products_on_arm("dotprod", "sdot", _SIGNED_SUM),
    "nanosleep": Example(lanes=0, source=_NANOSLEEP, words=(1000,), results=(0,)),
}


def examples(lanes: int) -> dict[str, Example]:
    """Those of functions, and of this processor's instructions, for vectors of up to so many."""
    known = instructions()
    return {
        name: each
        for name, each in EXAMPLES.items()
        if not each.lanes or (name in known and each.lanes <= lanes)
    }
