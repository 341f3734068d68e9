"""The schema of plans, from their records: types, order, defaults and comments of all fields."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import IntEnum
from itertools import takewhile
from pathlib import Path
from textwrap import indent, wrap
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from tflgpu.runtime.cache.variant import PLAN
from tflgpu.runtime.plan.codec import Extent
from tflgpu.runtime.plan.file import IDENTIFIER
from tflgpu.runtime.plan.records import Plan

HEAD = """\
// The flatbuffer in plan.tflgpu, after a header of 44 bytes: see file.py in runtime/plan.
//
// Generated from the records there. Sizes and offsets are in bytes, grids and groups in work-items.
// Fields are added at the end of a table; any other change raises the format version."""

EXTENT = "/// Along each axis.\nstruct Extent {\n  x: uint32;\n  y: uint32;\n  z: uint32;\n}"

TEXT_WIDTH = 90


def plan_schema() -> str:
    """The content of plan.fbs."""
    declared = {"Extent": EXTENT}
    _declare(Plan, declared)
    root = f'root_type {Plan.__name__};\nfile_identifier "{IDENTIFIER.decode()}";'
    root += f'\nfile_extension "{Path(PLAN).suffix[1:]}";'
    return "\n\n".join([HEAD, *declared.values(), root]) + "\n"


def _declare(kind: Any, declared: dict[str, str]) -> None:
    """Add a record or an enum, after those that it mentions, to the declarations by name."""
    if kind.__name__ in declared:
        return
    documented = _documented(kind)
    if issubclass(kind, IntEnum):
        head = f"enum {kind.__name__}: uint8"
        lines = {item.name: f"{item.name} = {item.value}," for item in kind}
    else:
        members = fields(kind)
        for mentioned in (each for item in members for each in _mentioned(item.type)):
            _declare(mentioned, declared)
        struct = all(_scalar(item.type) for item in members)
        head = f"{'struct' if struct else 'table'} {kind.__name__}"
        lines = {item.name: f"{item.name}: {_field(item)};" for item in members}
    body = [_comment(documented.get(name, "")) + line for name, line in lines.items()]
    about = _comment(inspect.getdoc(kind) or "")
    declared[kind.__name__] = f"{about}{head} {{\n{indent(chr(10).join(body), '  ')}\n}}"


def _mentioned(hint: Any) -> Iterator[Any]:
    """The records and enums in a type hint."""
    for argument in get_args(hint):
        yield from _mentioned(argument)
    if is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, IntEnum)):
        yield hint


def _field(item: Field[Any]) -> str:
    """Type and default of a field, such as `[uint32] (required)`."""
    hint, default = item.type, item.default
    if NoneType in get_args(hint):
        (value,) = set(get_args(hint)) - {NoneType}
        return _type(value) + (" = null" if _scalar(value) else "")
    if not _scalar(hint):
        return _type(hint) + (" (required)" if default is MISSING else "")
    return _type(hint) + ("" if default is MISSING or not default else f" = {default}")


def _type(hint: Any) -> str:
    if get_origin(hint) is Annotated and get_args(hint)[0] is bytes:
        hint = bytes
    if get_origin(hint) is tuple:
        return "Extent" if hint == Extent else f"[{_type(get_args(hint)[0])}]"
    return _scalar(hint) or {str: "string", bytes: "[uint8]"}.get(hint) or hint.__name__


def _scalar(hint: Any) -> str:
    """The name of a scalar type; "" for others."""
    if get_origin(hint) is Annotated and get_args(hint)[0] is int:
        return str(get_args(hint)[1])
    if isinstance(hint, type) and issubclass(hint, IntEnum):
        return hint.__name__
    return {bool: "bool", float: "float64"}.get(hint, "")


def _documented(kind: Any) -> dict[str, str]:
    """The comment of each member of a class: behind it, or in the lines above it."""
    source = inspect.getsource(kind)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    lines, found = source.splitlines(), {}
    for member in definition.body:
        if isinstance(member, (ast.Assign, ast.AnnAssign)):
            target = member.targets[0] if isinstance(member, ast.Assign) else member.target
            behind = lines[member.lineno - 1].partition("  # ")[2]
            above = [*takewhile(_is_comment, reversed(lines[: member.lineno - 1]))]
            found[ast.unparse(target)] = behind or " ".join(
                line.strip().removeprefix("# ") for line in reversed(above)
            )
    return found


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _comment(text: str) -> str:
    return "".join(f"/// {line}\n" for line in wrap(" ".join(text.split()), TEXT_WIDTH))
