"""The files of kernels: each distinct source once, named, with a comment that says what it is."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...runtime.plan.records import Kernel
from ..ir import Op, Tensor
from .render import ENTRY, Rendered

SUFFIX = {"opencl": ".cl", "glsl": ".comp", "vulkan": ".comp"}


@dataclass
class Launched:
    """A rendered launch, with the operator it belongs to and its kernel's number."""

    op: Op
    rendered: Rendered
    kernel: int


def title(op: Op) -> str:
    """The operators a kernel computes, such as CONV_2D + RELU6."""
    return " + ".join((op.name, *(post.name for post in op.post)))


def sources_of(launched: list[Launched], dialect: str) -> tuple[tuple[Kernel, ...], dict[str, str]]:
    """The kernels of a plan by their numbers, and their texts by file."""
    users: dict[int, list[Launched]] = {}
    for item in launched:
        users.setdefault(item.kernel, []).append(item)
    kernels, sources = [], {}
    for number, items in users.items():
        rendered = items[0].rendered
        stem = PurePosixPath(rendered.template).stem
        name = f"{stem}_{number:03}"
        file = f"kernels/{number:03}_{stem}{SUFFIX[dialect]}"
        text = _with_header(rendered, items, name)
        sources[file] = text
        digest = hashlib.sha256(text.encode()).digest()
        kernels.append(Kernel(name, file, digest, rendered.group, rendered.sub_group))
    return tuple(kernels), sources


def _with_header(rendered: Rendered, items: list[Launched], name: str) -> str:
    """The source with its comment; `#version` has to stay the first line."""
    grid, group = (" x ".join(map(str, size)) for size in (rendered.grid, rendered.group))
    lines = [
        f"{name}: {title(items[0].op)}",
        *rendered.parameters,
        f"grid {grid} in groups of {group}",
        *(
            f"operator {item.op.index} {title(item.op)}: {_tensors(item.rendered)}"
            for item in items
        ),
    ]
    comment = "".join(f"// {line}\n" for line in lines)
    entry = "main" if rendered.source.startswith("#version") else name
    source = rendered.source.replace(ENTRY, entry)
    if source.startswith("#version"):
        version, rest = source.split("\n", 1)
        return f"{version}\n{comment}{rest}"
    return comment + source


def _tensors(rendered: Rendered) -> str:
    """Which tensor of the model each parameter is."""
    bound = zip(rendered.names, rendered.arguments, strict=True)
    return ", ".join(f"{name} = {_plain(tensor)}" for name, (tensor, _) in bound if tensor)


def _plain(tensor: Tensor) -> str:
    """A tensor's name as it may stand in a comment: no character there ends or extends a line."""
    return re.sub(r"[^!-\[\]-~]", "_", tensor.name.split(";")[0])
