"""The functions and variables of GLSL that kernels name, in WGSL."""

from __future__ import annotations

from collections.abc import Sequence

from ...language.notation import UNARY
from .types import lanes, scalar, vector, wgsl
from .values import Value, binary, called, chosen, common, filled, shift

SAME = {
    *("abs", "sign", "floor", "ceil", "trunc", "fract", "sqrt", "pow", "fma", "step"),
    *("exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "min", "max", "clamp"),
}
"""Functions that WGSL has under the same name; the result has the type of the arguments."""

RENAMED = {
    "inversesqrt": "inverseSqrt",
    "roundEven": "round",
    "findMSB": "firstLeadingBit",
}
"""Those that it has under another one."""

RESULTS = {
    "any": ("any", "bool"),
    "all": ("all", "bool"),
    "unpackHalf2x16": ("unpack2x16float", "vec2"),
    "packHalf2x16": ("pack2x16float", "uint"),
    "barrier": ("workgroupBarrier", "void"),
    "dot4I8Packed": ("dot4I8Packed", "int"),
}
"""Those with a result of another type."""

COMPARISONS = {
    "lessThan": "<",
    "lessThanEqual": "<=",
    "greaterThan": ">",
    "greaterThanEqual": ">=",
    "equal": "==",
    "notEqual": "!=",
}

BITCASTS = {
    "floatBitsToInt": "int",
    "floatBitsToUint": "uint",
    "intBitsToFloat": "float",
    "uintBitsToFloat": "float",
}

ATOMICS = {"atomicAnd", "atomicOr"}

KNOWN = frozenset(
    {*SAME, *RENAMED, *RESULTS, *COMPARISONS, *BITCASTS, *ATOMICS}
    | {"not", "dot", "mix", "bitfieldExtract"}
)
"""All functions of GLSL that have a counterpart."""

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
    if function in COMPARISONS:
        return binary(COMPARISONS[function], *(filled(each, type) for each in arguments))
    if function in BITCASTS:
        type = vector(BITCASTS[function], lanes(type))
        return called(f"bitcast<{wgsl(type)}>", arguments, type)
    if function in RESULTS:
        return called(RESULTS[function][0], arguments, RESULTS[function][1])
    if function == "not":
        return Value(f"!{arguments[0].within(UNARY)}", type, UNARY)
    if function == "dot":
        return called("dot", arguments, scalar(type))
    if function == "mix":
        one, other, by = arguments
        if scalar(by.type) == "bool":
            return chosen(by, other, one)
        return called("mix", (filled(one, type), filled(other, type), by), type)
    if function == "bitfieldExtract":
        value, first, count = arguments
        return called(
            "extractBits", (value, shift(first, "uint"), shift(count, "uint")), value.type
        )
    if function == "atan" and len(arguments) == 2:
        return called("atan2", arguments, type)
    if function not in KNOWN:
        raise Unprintable(
            f"no function {function} in WGSL: add it to compiler/codegen/wgsl/builtins.py, or "
            f"define it as `wgsl` in templates/intrinsics.toml"
        )
    name = RENAMED.get(function, function)
    return called(name, [filled(each, type) for each in arguments], type)
