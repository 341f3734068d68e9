"""Graphs as text, one operator per line: what `tflgpu opt` prints and tests of rewrites read.

    input x float32[1,8,8,3]
    constant w float32[4,3,3,3]
    constant axes int32[2] = 1, 2
    variable state float32[1,4]
    t = CONV_2D(x, w, none) padding=SAME
    y = MEAN(t, axes)
    keep y as state
    output y

An operator without results is a line of its own, such as `ASSIGN_VARIABLE(handle, x)`.

Results may have a type, as in `t: float32[1,8,8,4] = ...`; others are float32 and get their shape
from the operator. A name that is not a single word is in double quotes, as in JSON. A tensor whose
slices are stored as integers, bytes or shorts of 16 bits, is followed by the number that a stored 0
stands for:

    y (bytes from -128) = tflgpu.requantize(s, scales) low=-128 high=127

A fused operator lists its outputs, and in braces the operators its kernel computes: those of its
core, then those of its epilogue, each behind a bar. It has the name of the core's last operator if
it says no other.

    y, t = { t = CONV_2D(x, w, none) | y = RELU6(t) }
    y = tflgpu.litert { t = ABS(x); y = NEG(t) }
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any

from .fused import FusedOp
from .op import Op
from .tensor import Array, Shape, Tensor

WORD = re.compile(r"[\w./:;+-]*\w")  # A name that needs no quotes.
_LITERALS = ("None", "True", "False", "inf", "nan")  # Words that mean something else than a text.
SHOWN = 16  # Most elements of a constant whose content is printed.

Naming = Callable[[Tensor], str]


def to_text(ops: Iterable[Op]) -> str:
    return "\n".join(map(line, ops))


def graph_text(
    inputs: Sequence[Tensor],
    ops: Sequence[Op],
    outputs: Sequence[Tensor],
    kept: Mapping[Tensor, Tensor],
) -> str:
    """A whole graph with types, which `parse.Parser` reads but for the content of large constants.

    Of several tensors with one name, all but the first get a number behind it.
    """
    read = dict.fromkeys((*inputs, *(t for op in ops for t in op.reads), *kept.values(), *outputs))
    name = _distinct([*read, *(tensor for op in ops for each in op.ops for tensor in each.outputs)])
    given = set(inputs)
    lines = [f"input {_declared(tensor, name)}" for tensor in inputs]
    for tensor in read:
        if tensor.data is not None:
            lines.append(f"constant {_declared(tensor, name)}{_content(tensor.data)}")
        elif tensor.variable and tensor not in given:
            lines.append(f"variable {_declared(tensor, name)}")
    lines += [line(op, name, typed=True) for op in ops]
    lines += [f"keep {name(last)} as {name(variable)}" for last, variable in kept.items()]
    lines += [f"output {', '.join(map(name, outputs))}"] if outputs else []
    return "\n".join(lines)


def _distinct(tensors: Iterable[Tensor]) -> Naming:
    names: dict[Tensor, str] = {}
    taken: set[str] = set()
    for tensor in dict.fromkeys(tensors):
        numbered = (f"{tensor.name}.{number}" for number in count(1))
        own = next(name for name in chain([tensor.name], numbered) if name not in taken)
        taken.add(own)
        names[tensor] = _quoted(own)
    return names.__getitem__


def own_name(tensor: Tensor) -> str:
    return _quoted(tensor.name)


def line(op: Op, name: Naming = own_name, typed: bool = False) -> str:
    """One operator as text, with the types of its results if `typed`."""
    results = ", ".join(_result(tensor, name, typed) for tensor in op.outputs)
    if isinstance(op, FusedOp):
        core = "; ".join(line(inner, name, typed) for inner in op.core)
        inner = " | ".join([core, *(line(each, name, typed) for each in op.epilogue)])
        called = "" if op.name == op.core[-1].name else f"{op.name} "
        return f"{results} = {called}{{ {inner} }}"
    operands = ", ".join("none" if t is None else name(t) for t in op.inputs)
    attrs = "".join(f" {key}={_value(value)}" for key, value in op.attrs.items())
    return f"{results}{' = ' if results else ''}{op.name}({operands}){attrs}"


def _quoted(name: str) -> str:
    return name if WORD.fullmatch(name) and name != "none" else json.dumps(name)


def type_text(dtype: str, shape: Shape) -> str:
    """Such as float32[1,8,8,3]."""
    return f"{dtype}[{','.join(map(str, shape))}]"


def _declared(tensor: Tensor, name: Naming) -> str:
    return f"{name(tensor)} {type_text(tensor.dtype, tensor.shape)}"


def _content(data: Array) -> str:
    shown = 0 < data.size <= SHOWN and data.dtype.kind in "iufb"
    return f" = {', '.join(map(str, data.reshape(-1)))}" if shown else ""


def _result(tensor: Tensor, name: Naming, typed: bool) -> str:
    """The name and, if its elements are stored as integers, how."""
    text = name(tensor)
    text += f": {type_text(tensor.dtype, tensor.shape)}" if typed else ""
    whole = tensor.whole
    if whole is None:
        return text
    return f"{text} ({'signed ' * whole.signed}{whole.called} from {whole.base})"


def _value(value: Any) -> str:
    r"""An attribute without spaces.

    >>> _value("SAME"), _value([1, 2]), _value(""), _value(b"to the left")
    ('SAME', '[1,2]', "''", "b'to\\x20the\\x20left'")
    """
    if not isinstance(value, (str, bytes)):
        return str(value).replace(" ", "")
    if isinstance(value, str) and value.isidentifier() and value not in _LITERALS:
        return value
    return repr(value).replace(" ", r"\x20").replace('"', r"\x22")
