"""The names in the .tflite schema: element types, operators, and the options of operators.

They are derived from the generated classes of the `tflite` package. Only facts that these do not
contain are listed here: which fields are enumerations, which operators share an option table, and
what is newer than the package, whose tables are in `newer_schema.py`.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import tflite

from . import newer_schema

VERSION = 3  # The only version of the schema that is in use.
IDENTIFIER = b"TFL3"  # Bytes 4 to 8 of every .tflite file.


def _names(enumeration: Any) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


def generated(name: str) -> Any:
    """A class or a function of the package, or of what is newer."""
    return getattr(tflite, name, None) or getattr(newer_schema, name)


# Names of the option tables by their number in either of the file's two unions.
_OPTIONS = _names(tflite.BuiltinOptions)
_MORE_OPTIONS = {**_names(tflite.BuiltinOptions2), 23: "StablehloCaseOptions"}

# Names of element types, numpy's where numpy has them, by their number in the file.
DTYPES: dict[int, str] = {
    **{number: name.lower() for number, name in _names(tflite.TensorType).items()},
    # Newer than the package.
    19: "int2",
    20: "uint4",
    21: "float8_e4m3fn",
    22: "float8_e5m2",
}

# Names of the built-in operators by their number in the file.
OPERATORS: dict[int, str] = {**_names(tflite.BuiltinOperator), 209: "STABLEHLO_CASE"}

CUSTOM: int = tflite.BuiltinOperator.CUSTOM

OWN_PREFIX = "tflgpu."  # Prefix of tflgpu's own operators, which TFLite does not have.
_BUILTIN_PREFIX = "BUILTIN_"  # Prefix, before their number, of operators newer than the package.

# Prefix of custom operators whose custom code would be ambiguous as a name.
_CUSTOM_PREFIX = "CUSTOM:"

# Format of a level of a sparse tensor in which every index is present.
DENSE: int = tflite.DimensionType.DENSE
# Format of a level of a sparse tensor with segments and indices.
SPARSE: int = tflite.DimensionType.SPARSE_CSR

_TYPE_FIELDS = (
    "in_data_type",
    "out_data_type",
    "out_type",
    "output_type",
    "idx_out_type",
    "quantized_bias_type",
    "key_dtype",
    "value_dtype",
)

# The names of the values of each option that is an enumeration, by the option's name.
ENUMERATIONS: dict[str, dict[int, str]] = {
    **dict.fromkeys(_TYPE_FIELDS, DTYPES),
    "padding": _names(tflite.Padding),
    "fused_activation_function": _names(tflite.ActivationFunctionType),
    "mode": _names(tflite.MirrorPadMode),
    "weights_format": _names(tflite.FullyConnectedOptionsWeightsFormat),
    "kernel_type": _names(tflite.LSTMKernelType),
    "combiner": _names(tflite.CombinerType),
    "type": _names(tflite.LSHProjectionType),
    "reduce_function": _names(tflite.ReduceWindowFunction),
    "comparison_direction": _names(tflite.StablehloComparisonDirection),
    "compare_type": _names(tflite.StablehloComparisonType),
    "algorithm": _names(tflite.RngAlgorithm),
    "composite_attributes_format": _names(tflite.CustomOptionsFormat),
}

_VECTOR_TYPES = {
    "boundaries": "float32",
    "branch_subgraph_indices": "int32",
    "window_reversal": "bool",
    "precision_config": "uint32",
    "called_computations": "int32",
    "composite_attributes": "uint8",
    "custom_attributes": "uint8",
}

_SHARED_TABLES = {
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), "MaximumMinimumOptions"),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys(("MEAN", "SUM"), "ReducerOptions"),
    **dict.fromkeys(
        ("REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"), "ReducerOptions"
    ),
    **dict.fromkeys(("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"), "RandomOptions"),
    "L2_NORMALIZATION": "L2NormOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
}


@dataclass(frozen=True)
class Field:
    accessor: str  # Its name in the generated code, such as StrideW.
    key: str  # Its name in `Op.attrs`, such as stride_w.
    vector: bool
    element: str  # numpy's name of a vector's element type.


@dataclass(frozen=True)
class OptionTable:
    """An option table of the schema: its generated class, its number, its fields."""

    name: str  # The generated class's name, such as Conv2DOptions.
    number: int
    second: bool  # Whether it is one of BuiltinOptions2.
    fields: tuple[Field, ...]

    def new(self) -> Any:
        """An instance of the generated class, not yet bound to any bytes."""
        return generated(self.name)()


def snake_case(name: str) -> str:
    """`FusedActivationFunction` as `fused_activation_function`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _fields(name: str) -> tuple[Field, ...]:
    """The fields of a generated class: its methods, except those about a field or the class."""
    methods = [method for method in vars(generated(name)) if method[0].isupper()]
    found = []
    for method in methods:
        about_field = re.fullmatch(r"(\w+)(AsNumpy|Length|IsNone)", method)
        if about_field and about_field[1] in methods:
            continue
        if method == "Init" or method.startswith("GetRootAs") or method.endswith("HasIdentifier"):
            continue
        key = snake_case(method)
        element = _VECTOR_TYPES.get(key, "int64" if name.startswith("Stablehlo") else "int32")
        found.append(Field(method, key, f"{method}Length" in methods, element))
    return tuple(found)


def operator_name(number: int, custom: str) -> str:
    """The name of an operator in the graph: for a custom one, its custom code if unambiguous."""
    if number != CUSTOM:
        return OPERATORS.get(number, f"{_BUILTIN_PREFIX}{number}")
    taken = not custom or custom in OPERATORS.values()
    if taken or custom.startswith((_BUILTIN_PREFIX, _CUSTOM_PREFIX, OWN_PREFIX)):
        return f"{_CUSTOM_PREFIX}{custom}"
    return custom


@cache
def operator_code(name: str) -> tuple[int, str | None]:
    """The number of an operator with that name, and its custom code if it is custom."""
    for number, builtin in OPERATORS.items():
        if builtin == name:
            return number, None
    if name.startswith(_BUILTIN_PREFIX):
        return int(name.removeprefix(_BUILTIN_PREFIX)), None
    return CUSTOM, name.removeprefix(_CUSTOM_PREFIX)


def refers_to_subgraph(key: str) -> bool:
    """Whether an option is the number of a subgraph, or a vector of these."""
    return key == "subgraph" or key.endswith(("_subgraph_index", "_subgraph_indices"))


@cache
def option_table(number: int, second: bool) -> OptionTable | None:
    """The table with a number in BuiltinOptions, or BuiltinOptions2; None if it is unknown."""
    name = (_MORE_OPTIONS if second else _OPTIONS).get(number, "NONE")
    return None if name == "NONE" else OptionTable(name, number, second, _fields(name))


@cache
def option_table_of(operator: str) -> OptionTable | None:
    """The option table of a built-in operator; None if it has none."""
    wanted = _SHARED_TABLES.get(operator, operator.replace("_", "") + "Options").lower()
    for second, names in ((False, _OPTIONS), (True, _MORE_OPTIONS)):
        for number, name in names.items():
            if name.lower() == wanted:
                return option_table(number, second)
    return None
