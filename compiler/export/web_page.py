"""A compiled model as a folder for browsers: an ES module that runs it on WebGPU, and a demo."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ...runtime.plan.records import Plan, TensorInfo
from ...runtime.plan.running import Limits, TensorBuffer
from ...runtime.plan.storage import WORD, device_dtype
from ...runtime.store.variant import WEIGHTS, Variant
from ..language.comment import in_comment

FORMAT = 1
"""Of NAME.json."""
ENTRY = "main"
"""What every kernel is called, so that equal ones have equal texts."""


@dataclass(frozen=True)
class Pictures:
    """How the demo scales pixels, (pixel - mean) / std, and what it calls classes."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    known: bool
    """Whether the model says so, rather than an assumption."""
    labels: tuple[str, ...] = ()


UNKNOWN = Pictures((0.0,), (255.0,), False)
"""What is assumed where nothing is known: pixels 0..255 become 0..1."""


def web_files(
    variant: Variant, name: str, pictures: Pictures, described: Mapping[str, str]
) -> dict[str, Any]:
    """The content of each file. `described` has the model and its tensors for the README."""
    plan = variant.plan
    call = ", ".join(f"{in_comment(json.dumps(info.name))}: array" for info in plan.inputs)
    scaling = {"mean": pictures.mean, "std": pictures.std, "known": pictures.known}
    values = {**described, "name": name, "profile": plan.profile, "call": call}
    values |= {"scaling": _in_script(scaling), "labels": _in_script(pictures.labels)}
    found: dict[str, Any] = {}
    for source in files(__package__).joinpath("web").iterdir():
        text = source.read_text(encoding="utf-8")
        text = re.sub(r"@\{(\w+)\}", lambda place: values[place[1]], text)
        found[source.name.replace("model", name)] = text.encode()
    found[f"{name}.json"] = _json(_described(variant)).encode()
    found[WEIGHTS] = variant.weights.content
    return found


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _in_script(value: object) -> str:
    """JSON in which nothing ends a script."""
    return _json(value).replace("<", "\\u003c")


def _described(variant: Variant) -> Mapping[str, object]:
    """The content of NAME.json."""
    plan = variant.plan
    kernels: dict[str, int] = {}
    names: list[str] = []
    numbers = []
    for kernel in plan.kernels:
        text = _bare(variant.sources[kernel.file], kernel.name)
        if text not in kernels:
            kernels[text] = len(kernels)
            names.append(kernel.name)
        numbers.append(kernels[text])
    return {
        "format": FORMAT,
        "model": plan.model,
        "compiler": plan.compiler,
        "inputs": _tensors(plan.inputs, plan.input_buffers),
        "outputs": _tensors(plan.outputs, plan.output_buffers),
        "variables": [
            {"reach": max(each.size, each.reach), "size": each.size, "content": each.content}
            for each in plan.variables
        ],
        "arena": plan.arena_size,
        "weights": {"size": plan.weights_size, "sha256": plan.weights_sha256.hex()},
        "needs": _needs(plan.needs),
        "kernels": [
            {"name": name, "code": text} for name, text in zip(names, kernels, strict=True)
        ],
        "steps": _steps(plan, numbers),
    }


def _bare(text: str, name: str) -> str:
    """A kernel without its header comment, which tells equal kernels apart."""
    lines = text.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if not line.startswith("//"))
    return "".join(lines[start:]).strip().replace(f"fn {name}(", f"fn {ENTRY}(")


def _tensors(
    infos: tuple[TensorInfo, ...], buffers: tuple[TensorBuffer, ...]
) -> list[Mapping[str, object]]:
    return [
        {
            **{"name": info.name, "shape": info.shape, "dtype": info.dtype},
            **{"element": device_dtype(info.dtype), "size": buffer.size, "reach": buffer.reach},
            **{"scale": info.scale, "zero_point": info.zero_point},
        }
        for info, buffer in zip(infos, buffers, strict=True)
    ]


def _needs(needs: Limits) -> Mapping[str, object]:
    """The limits and features by WebGPU's names."""
    limits = {
        "maxStorageBuffersPerShaderStage": needs.arguments,
        "maxStorageBufferBindingSize": needs.argument_size,
        "maxBufferSize": needs.buffer_size,
        "maxComputeInvocationsPerWorkgroup": needs.group,
        "maxComputeWorkgroupStorageSize": needs.local_memory,
        "maxComputeWorkgroupsPerDimension": max(needs.group_counts),
        **{
            f"maxComputeWorkgroupSize{axis}": size
            for axis, size in zip("XYZ", needs.group_sizes, strict=True)
        },
    }
    return {"limits": limits, "features": needs.extensions}


def _steps(plan: Plan, numbers: list[int]) -> list[object]:
    """Each dispatch: kernel, work-groups, and region, index, offset and size of each argument."""
    steps: list[object] = []
    for dispatch in plan.dispatches:
        group = plan.kernels[dispatch.kernel].group
        groups = [items // size for items, size in zip(dispatch.grid, group, strict=True)]
        bindings = [
            [int(item.region), item.index, item.offset, max(WORD, -(-item.size // WORD) * WORD)]
            for item in dispatch.arguments
        ]
        steps.append([numbers[dispatch.kernel], groups, bindings])
    return steps
