"""A compiled model as a folder of C99 that builds a library and a demo."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template

from ...runtime.plan.records import Plan, TensorInfo
from ...runtime.store.variant import WEIGHTS, Variant
from ..errors import OptionError
from .tables import RUNTIMES, header, tables

_IDENTIFIER = re.compile(r"(?!tflgpu)[a-z][a-z0-9_]{0,62}\Z")
_KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "main",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "class",
        "new",
        "this",
        "inputs",
        "outputs",
        "variables",
        "dispatches",
        "persistent",
        "embedded_weights",
    ]
)
"""Names that C or C++ keeps for itself, or that the tables use."""


PROJECT = ("main.c", "CMakeLists.txt", "README.md")
"""Files that name the model."""
DRIVERS = {"opencl": "OpenCL", "gles": "OpenGL ES 3.1"}
"""What each runtime needs, in words."""
RUNTIME = ("tflgpu.h", "tflgpu_backend.h", "tflgpu.c")
"""Files that every model needs, apart from its driver's runtime."""


class _Files(Template):
    """Files with names in the form @{name}; CMake and C use the dollar sign themselves."""

    delimiter = "@"


def export(variant: Variant, folder: Path, name: str, embed: bool) -> None:
    """Write a variant as a C99 project called `name` into a folder, made if it does not exist.

    With `embed`, the weights become a part of the program. OptionError, with all reasons, if the
    variant cannot be exported or the folder has files already.
    """
    reasons = unsupported(variant.plan)
    if not _IDENTIFIER.match(name) or name in _KEYWORDS:
        reasons.append(
            f"{name!r} is no name for a C variable and its files: use up to 63 lower-case letters, "
            "digits and underscores, other than a word of C or of the runtime"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        reasons.append(f"{folder} is not an empty folder")
    if reasons:
        raise OptionError("\n".join(["the model cannot be exported:", *reasons]))
    folder.mkdir(parents=True, exist_ok=True)
    plan = variant.plan
    runtime = RUNTIMES[plan.target]
    (folder / f"{name}.h").write_text(header(name), encoding="utf-8")
    (folder / f"{name}.c").write_text(tables(variant, name, embed), encoding="utf-8")
    values = {
        "name": name,
        "runtime": runtime,
        "driver": DRIVERS[runtime],
        "model": plan.model,
        "profile": plan.profile,
        "tensors": _listed(plan),
    }
    for file in (*PROJECT, *RUNTIME, f"tflgpu_{runtime}.c"):
        text = (files(__package__) / "c" / file).read_text(encoding="utf-8")
        if file in PROJECT:
            text = _Files(text).substitute(values)
        (folder / file).write_text(text, encoding="utf-8")
    if plan.weights_size and not embed:
        shutil.copyfile(variant.folder / WEIGHTS, folder / WEIGHTS)


def unsupported(plan: Plan) -> list[str]:
    """Why a plan cannot be exported, each reason naming what is at fault."""
    reasons = []
    if plan.target not in RUNTIMES:
        reasons.append(
            f"it was compiled for {plan.target}; compile it with --target {' or '.join(RUNTIMES)}"
        )
    reasons += plan.obstacles
    return reasons


def _listed(plan: Plan) -> str:
    rows = ["| | name | type | shape | quantization |", "|---|---|---|---|---|"]
    for kind, infos in (("input", plan.inputs), ("output", plan.outputs)):
        rows += [_row(f"{kind} {index}", info) for index, info in enumerate(infos)]
    return "\n".join(rows)


def _row(place: str, info: TensorInfo) -> str:
    quantization = f"{info.scale:g} * (q - {info.zero_point})" if info.scale else ""
    name = info.name.replace("|", "\\|").replace("`", "'")
    cells = (place, f"`{name}`", info.dtype, str(list(info.shape)), quantization)
    return f"| {' | '.join(cells)} |"
