"""The functions, variables and words of GLSL that kernels name, in WGSL."""

from collections.abc import Sequence

from ...language.notation import UNARY
from .types import lanes, scalar, vector, wgsl
from .values import Value, called, chosen, common, filled, shift

# Functions that WGSL has under the same name.
SAME = {
    *("abs", "sign", "floor", "ceil", "trunc", "fract", "sqrt", "pow", "fma", "step"),
    *("exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "min", "max", "clamp", "mix", "any", "all"),
    *("dot", "dot4I8Packed"),
}

# Those that it has under another one.
RENAMED = {
    "inversesqrt": "inverseSqrt",
    "roundEven": "round",
    "findMSB": "firstLeadingBit",
    "unpackHalf2x16": "unpack2x16float",
    "packHalf2x16": "pack2x16float",
    "barrier": "workgroupBarrier",
}

# The types of those results that have not the type of the arguments.
RESULTS = {
    **dict.fromkeys(("any", "all"), "bool"),
    **{"unpackHalf2x16": "vec2", "packHalf2x16": "uint", "dot4I8Packed": "int", "barrier": "void"},
}

BITCASTS = {
    "floatBitsToInt": "int",
    "floatBitsToUint": "uint",
    "intBitsToFloat": "float",
    "uintBitsToFloat": "float",
}

ATOMICS = {"atomicAnd", "atomicOr"}

# All functions of GLSL that have a counterpart.
KNOWN = frozenset({*SAME, *RENAMED, *BITCASTS, *ATOMICS, "not", "bitfieldExtract"})

VARIABLES = {
    "gl_GlobalInvocationID": Value("work_item", "uvec3"),
    "true": Value("true", "bool"),
    "false": Value("false", "bool"),
}


class Unprintable(ValueError):
    """A kernel that names what WGSL does not know, or that it cannot express."""


def builtin(function: str, arguments: Sequence[Value]) -> Value:
    """The call of a function that GLSL has built in (Unprintable)."""
    type = common(arguments)
    if function in BITCASTS:
        type = vector(BITCASTS[function], lanes(type))
        return called(f"bitcast<{wgsl(type)}>", arguments, type)
    if function == "not":
        return Value(f"!{arguments[0].within(UNARY)}", type, UNARY)
    if function == "select":
        other, one, by = arguments
        return chosen(by, one, other)
    if function == "bitfieldExtract":
        value, *bits = arguments
        return called("extractBits", [value, *(shift(each, "uint") for each in bits)], value.type)
    if function not in KNOWN:
        raise Unprintable(
            f"no function {function} in WGSL: add it to compiler/codegen/wgsl/builtins.py, or "
            f"define it as `wgsl` in compiler/intrinsics"
        )
    if function == "atan" and len(arguments) == 2:
        function = "atan2"
    name = RENAMED.get(function, function)
    result = scalar(type) if function == "dot" else RESULTS.get(function, type)
    return called(name, [filled(each, type) for each in arguments], result)


# The keywords and reserved words of WGSL (sections 16.1 and 16.2), which no variable may be.
_WORDS = """
NULL Self abstract active alias alignas alignof as asm asm_fragment async attribute auto await
become break case cast catch class co_await co_return co_yield coherent column_major common
compile compile_fragment concept const const_assert const_cast consteval constexpr constinit
continue continuing crate debugger decltype default delete demote demote_to_helper diagnostic
discard do dynamic_cast else enable enum explicit export extends extern external fallthrough
false filter final finally fn for friend from fxgroup get goto groupshared highp if impl
implements import inline instanceof interface layout let loop lowp macro macro_rules match
mediump meta mod module move mut mutable namespace new nil noexcept noinline nointerpolation
noncoherent noperspective null nullptr of operator override package packoffset partition pass
patch pixelfragment precise precision premerge priv protected pub public readonly ref regardless
register reinterpret_cast require requires resource restrict return self set shared sizeof
smooth snorm static static_assert static_cast std struct subroutine super switch target template
this thread_local throw trait true try type typedef typeid typename typeof union unless unorm
unsafe unsized use using var varying virtual volatile wgsl where while with writeonly yield
"""
RESERVED = frozenset(_WORDS.split())


def named(name: str) -> str:
    """A name of a kernel's variable as one in WGSL."""
    return f"{name}_" if name in RESERVED else name
