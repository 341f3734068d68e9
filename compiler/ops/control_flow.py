"""Operators that rewrites resolve, or that nothing computes; shapes only.

TensorFlow's lists of tensors are those in which loops of recurrent layers collect their results.
The shape of a list is [length, *entry], as that of its stacked entries; until one is set, [length].
"""

from ..errors import ModelError
from ..ir import Op, Shape
from .base.definition import define
from .base.operands import declare
from .base.shapes import same_as_first
from .base.storage import ANY

# Operators that run one of several subgraphs.
BRANCHING = ("IF", "STABLEHLO_CASE")
# Operators whose results have the shapes of what they run, which the file may not know.
CONTROL = (*BRANCHING, "WHILE")


def as_the_file_says(op: Op) -> list[Shape]:
    """The shapes in the file, until a rewrite has put what they run in the operators' place."""
    return [tensor.shape for tensor in op.outputs]


for _signature, _branches in (
    ("IF condition inputs* -> outputs*", "both branches"),
    ("STABLEHLO_CASE index:int32 inputs* -> outputs*", "all branches"),
):
    _chooser = _signature.split()[1].split(":")[0]
    define(
        _signature,
        as_the_file_says,
        dtypes=ANY,
        note=f"{_branches} run if the {_chooser} is computed; they must be small and keep nothing",
        unimplemented_reason=f"the {_chooser} is computed while the model runs",
    )
define(
    "STABLEHLO_COMPOSITE inputs* -> outputs*",
    as_the_file_says,
    dtypes=ANY,
    note="becomes its subgraph",
)
define(
    "WHILE inputs* -> outputs*",
    as_the_file_says,
    dtypes=ANY,
    note="the number of iterations must follow from constants",
    unimplemented_reason="the number of iterations is known only while the model runs",
)

for _signature in (
    "ASSIGN_VARIABLE handle:resource value ->",
    "CALL_ONCE ->",
    "READ_VARIABLE handle:resource -> value",
    "VAR_HANDLE -> handle:resource",
):
    define(
        _signature,
        as_the_file_says,
        dtypes=ANY,
        note="becomes state kept between runs",
        unimplemented_reason="its variable is used in a loop or a branch",
    )


RESERVE, SET_ITEM, STACK = (f"FlexTensorList{name}" for name in ("Reserve", "SetItem", "Stack"))


def _infer_reserve(op: Op) -> list[Shape]:
    length = int(op.number(1))
    if length < 1:
        # Such lists grow as entries are set.
        raise op.unsupported(
            f"it makes a list of {length} entries",
            "give the TensorArray its size instead of dynamic_size=True",
        )
    return [(length,)]


def _infer_set_item(op: Op) -> list[Shape]:
    shape, place = op.operand(0).shape, op.operand(1).data
    if not shape:
        raise op.unsupported("the length of its list is unknown")
    if place is not None and not 0 <= int(place) < shape[0]:
        raise ModelError(f"operator {op!r} sets entry {place} of a list {list(shape)}")
    return [(shape[0], *op.operand(2).shape)]


_PLACES = "at places that follow from constants"
_REASON = "its list's entries are not all set at places that follow from constants"

for _name, _operands, _infer, _note in (
    (RESERVE, "shape:integer length:integer -> list:variant", _infer_reserve, f"read by {STACK}"),
    (SET_ITEM, "list:variant place:integer entry -> list:variant", _infer_set_item, _PLACES),
    (STACK, "list:variant shape:integer -> y", same_as_first, "becomes PACK"),
):
    _signature = f"{_name} {_operands}"
    define(_signature, _infer, dtypes=ANY, note=_note, unimplemented_reason=_REASON)


declare(
    "HASHTABLE -> handle:resource",
    "HASHTABLE_FIND handle:resource keys default -> values",
    "HASHTABLE_IMPORT handle:resource keys values ->",
    "HASHTABLE_SIZE handle:resource -> size",
    "MULTINOMIAL logits count:integer -> y",
    "RANDOM_STANDARD_NORMAL shape:integer -> y",
    "RANDOM_UNIFORM shape:integer -> y",
    "UNIQUE x:T -> values:T indices:integer",
)
