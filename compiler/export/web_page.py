"""A compiled model as a folder for browsers: an ES module that runs it on WebGPU, and a demo."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from typing import Any

from ...runtime.cache.variant import WEIGHTS, Variant
from ...runtime.plan.kernels import Kernel
from ...runtime.plan.records import Plan, TensorInfo
from ...runtime.plan.running import TensorBuffer
from ...runtime.plan.storage import WORD, device_dtype, whole_words
from ...runtime.webgpu.info import GROUP_COUNTS, GROUP_SIZES, LIMITS
from ..language.wrapping import in_comment

DEMO = "demo"  # The folder of the modules of the demo, which are the same for all models.


@dataclass(frozen=True)
class Pictures:
    """How the demo scales pixels, (pixel - mean) / std, and what it calls classes."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    known: bool  # Whether the model says so, rather than an assumption.
    labels: tuple[str, ...] = ()


# What is assumed where nothing is known: pixels 0..255 become 0..1.
UNKNOWN = Pictures((0.0,), (255.0,), False)


def web_files(
    signatures: Sequence[Variant], name: str, pictures: Pictures, described: Mapping[str, str]
) -> dict[str, Any]:
    """The content of each file; `described` has the model and its tensors for the README."""
    plan = signatures[0].plan
    call = ", ".join(f"{in_comment(json.dumps(info.name))}: array" for info in plan.inputs)
    scaling = {"mean": pictures.mean, "std": pictures.std, "known": pictures.known}
    values = {**described, "name": name, "profile": plan.profile, "call": call}
    values |= {"scaling": _in_script(scaling), "labels": _in_script(pictures.labels)}
    table = _json(_described(signatures)).encode()
    values["sha256"] = sha256(table).hexdigest()
    found: dict[str, Any] = {f"{name}.json": table, WEIGHTS: signatures[0].weights.content}
    folder = files(__package__) / "web"
    for source in (each for each in folder.iterdir() if each.is_file()):
        text = source.read_text(encoding="utf-8")
        found[source.name.replace("model", name)] = filled(text, values).encode()
    for source in (folder / DEMO).iterdir():
        found[f"{DEMO}/{source.name}"] = source.read_bytes()
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """A file with values for @{name}; CMake, C and JavaScript use the dollar sign themselves."""
    return re.sub(r"@\{(\w+)\}", lambda place: values[place[1]], text)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _in_script(value: object) -> str:
    """JSON in which nothing ends a script."""
    return _json(value).replace("<", "\\u003c")


def _described(signatures: Sequence[Variant]) -> Mapping[str, object]:
    """The content of NAME.json."""
    plans = [variant.plan for variant in signatures]
    plan = plans[0]
    kernels = [
        [(_code(variant, each), each.name) for each in variant.plan.kernels]
        for variant in signatures
    ]
    names: dict[str, str] = {}
    for code, name in chain(*kernels):
        names.setdefault(code, name)
    numbers = {code: number for number, code in enumerate(names)}
    return {
        "model": plan.model,
        "compiler": plan.compiler,
        "weights": {"size": plan.weights_size, "sha256": plan.weights_sha256.hex()},
        "needs": _needs(plans),
        "kernels": [{"name": name, "code": code} for code, name in names.items()],
        "signatures": [
            _signature(plan, [numbers[code] for code, _ in each])
            for plan, each in zip(plans, kernels, strict=True)
        ],
    }


def _code(variant: Variant, kernel: Kernel) -> str:
    """A kernel without the comment at its top, which tells equal ones apart."""
    (body,) = kernel.bodies
    return body.within(variant.sources[kernel.file].encode()).decode()


def _signature(plan: Plan, kernels: Sequence[int]) -> Mapping[str, object]:
    """What one signature takes, gives, keeps and runs; `kernels` has the numbers of its kernels."""
    return {
        "name": plan.signature,
        "inputs": _tensors(plan.inputs, plan.input_buffers),
        "outputs": _tensors(plan.outputs, plan.output_buffers),
        "variables": [
            {**_fields(each, "name", "size", "content"), "reach": max(each.size, each.reach)}
            for each in plan.variables
        ],
        "arena": plan.arena_size,
        "steps": [*_steps(plan, kernels)],
    }


def _tensors(
    infos: tuple[TensorInfo, ...], buffers: tuple[TensorBuffer, ...]
) -> list[Mapping[str, object]]:
    return [
        {
            **_fields(info, "name", "shape", "dtype", "scale", "zero_point"),
            **_fields(buffer, "size", "reach"),
            "element": device_dtype(info.dtype),
        }
        for info, buffer in zip(infos, buffers, strict=True)
    ]


def _fields(record: object, *names: str) -> Mapping[str, object]:
    return {name: getattr(record, name) for name in names}


def _needs(plans: Sequence[Plan]) -> Mapping[str, object]:
    """The limits and features of all signatures by JavaScript's names, and rounds of loops."""
    each = [plan.needs for plan in plans]
    limits = {name: max(getattr(needs, field) for needs in each) for field, name in LIMITS.items()}
    limits[GROUP_COUNTS] = max(max(needs.group_counts) for needs in each)
    for axis, name in enumerate(GROUP_SIZES):
        limits[name] = max(needs.group_sizes[axis] for needs in each)
    named = {
        re.sub("-(.)", lambda found: found[1].upper(), name): limit
        for name, limit in limits.items()
    }
    features = dict.fromkeys(name for needs in each for name in needs.extensions)
    iterations = max(needs.iterations for needs in each)
    return {"limits": named, "features": [*features], "iterations": iterations}


def _steps(plan: Plan, kernels: Sequence[int]) -> Iterator[object]:
    """Each dispatch: kernel, work-groups, and region, index, offset and size of each argument."""
    for dispatch in plan.dispatches:
        group = plan.kernels[dispatch.kernel].group
        groups = [items // size for items, size in zip(dispatch.grid, group, strict=True)]
        bindings = [
            [int(item.region), item.index, item.offset, max(WORD, whole_words(item.size))]
            for item in dispatch.arguments
        ]
        yield [kernels[dispatch.kernel], groups, bindings]
