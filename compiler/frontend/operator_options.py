"""The options of an operator in a file, built-in or custom, as attributes by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ModelError
from ..ir import Graph, Op
from ..ir.connected import reached
from ..tflite_schema import (
    ENUMERATIONS,
    Field,
    OptionTable,
    option_table,
    option_table_of,
    refers_to_subgraph,
)
from .custom_options import custom_attrs
from .model_file import ModelFile

# A vtable without fields, and a table that refers to it.
EMPTY_TABLE = bytes([4, 0, 4, 0, 4, 0, 0, 0])


def operator_options(model: ModelFile, name: str, custom: bool, table: Any) -> dict[str, Any]:
    """The attributes of an operator, whose table in the file is `table` (ModelError)."""
    return _custom(model, name, table) if custom else _built_in(model, name, table)


def subgraphs_of(attrs: Mapping[str, Any]) -> list[int]:
    """The indices of the subgraphs that an operator with these attributes runs.

    Custom operators run none, whatever their options are called.
    """
    if "custom_options" in attrs:
        return []
    values = (value for key, value in attrs.items() if refers_to_subgraph(key))
    return [index for value in values for index in np.atleast_1d(value).tolist()]


def referred(ops: Iterable[Op], subgraphs: Mapping[int, Graph]) -> dict[int, Graph]:
    """The subgraphs that operators run, directly or through one another, by index."""

    def named(ops: Iterable[Op]) -> list[int]:
        return [index for op in ops for index in subgraphs_of(op.attrs)]

    found = reached(named(ops), lambda index: named(subgraphs[index].ops))
    return {index: subgraphs[index] for index in sorted(found)}


def run_by(op: Op, subgraphs: Mapping[int, Graph]) -> Iterator[Op]:
    """An operator, and those of the subgraphs that it runs."""
    yield op
    for graph in referred([op], subgraphs).values():
        yield from graph


def _custom(model: ModelFile, name: str, table: Any) -> dict[str, Any]:
    source = model.source
    offset, size = table.LargeCustomOptionsOffset(), table.LargeCustomOptionsSize()
    raw = source.span(offset, size) if offset > 1 else source.view(table, "CustomOptions")
    source.copy(len(raw))
    return custom_attrs(name, raw.tobytes())


def _built_in(model: ModelFile, name: str, table: Any) -> dict[str, Any]:
    """The options of a built-in operator; {} if it takes none.

    Like LiteRT, ignores the option table of another operator. Without a table, options have the
    schema's defaults. ModelError if the operator runs a subgraph and does not say which.
    """
    attrs: dict[str, Any] = {}
    own = option_table_of(name)
    for second, suffix in ((False, ""), (True, "2")):
        kind = option_table(getattr(table, f"BuiltinOptions{suffix}Type")(), second)
        union = getattr(table, f"BuiltinOptions{suffix}")()
        if kind is None or union is None or (own is not None and own != kind):
            continue
        options = kind.new()
        options.Init(union.Bytes, union.Pos)
        for field in kind.fields:
            attrs[field.key] = _option(model, options, field)
    return attrs if own is None else {**_defaults(own, attrs), **attrs}


def _defaults(table: OptionTable, given: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and choices that are not given (ModelError for a subgraph that is not)."""
    options = table.new()
    options.Init(EMPTY_TABLE, len(EMPTY_TABLE) // 2)
    found = {}
    for field in table.fields:
        if field.key in given:
            continue
        if refers_to_subgraph(field.key):
            raise ModelError(f"its option {field.key} is missing")
        if field.vector:
            continue
        value = getattr(options, field.accessor)()
        found[field.key] = ENUMERATIONS.get(field.key, {}).get(value, value)
    return {key: value for key, value in found.items() if value is not None}


def _option(model: ModelFile, options: Any, field: Field) -> Any:
    value = _plain_option(model, options, field)
    for index in subgraphs_of({field.key: value}):
        if not 0 <= index < len(model.subgraphs):
            raise ModelError(
                f"it refers to subgraph {index}, but the model has {len(model.subgraphs)}"
            )
    return value


def _plain_option(model: ModelFile, options: Any, field: Field) -> Any:
    if field.vector:
        return model.source.numbers(options, field.accessor)
    value = getattr(options, field.accessor)()
    if value is None or isinstance(value, bytes):
        return model.source.text(options, field.accessor)
    if field.key in ENUMERATIONS:
        if value not in ENUMERATIONS[field.key]:
            raise ModelError(f"its option {field.key} has the unknown value {value}")
        return ENUMERATIONS[field.key][value]
    return value
