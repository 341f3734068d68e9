"""A compiled model as a folder of C99 that builds a library and a demo, or as one for browsers."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...runtime.cache.variant import WEIGHTS, Variant
from ...runtime.input_shapes import described_choices, signatures_of
from ...runtime.plan.records import Plan, TensorInfo
from ...runtime.printable import printable
from ..errors import OptionError
from .tables import BACKENDS, header, tables
from .web_page import UNKNOWN, Pictures, filled, web_files
from .weights import join_weights

PROJECT = ("main.c", "CMakeLists.txt", "README.md")  # Files that name the model.
# Names of models. With `_model` behind them, as variables, files and libraries have in C, they are
# words neither of C and its library nor of CMake.
_NAME = re.compile(r"(?!tflgpu)[a-z][a-z0-9_]{0,56}\Z")
# What each runtime in C needs, in words.
DRIVERS = {"opencl": "OpenCL", "gles": "OpenGL ES 3.1", "webgpu": "WebGPU"}
# Files that every model needs, apart from its driver's runtime.
RUNTIME = (
    *("tflgpu.h", "tflgpu_backend.h", "tflgpu.c"),
    *("android/tflgpu_android.h", "android/tflgpu_android.c"),
    *("images/tflgpu_images.h", "images/tflgpu_images.c"),
)

_ASSET = (
    f"Put `{WEIGHTS}` into the app's assets, uncompressed, and pass the asset's memory as\n"
    "`tflgpu_options.weights`.\n"
)

_SIGNATURES = """
`tflgpu_open` loads the first of these signatures, `tflgpu_signature` another, on the same weights
and variables.
"""

_WEBGPU = """\

## WebGPU

`webgpu/webgpu.h` and the library come with wgpu-native (`-lwgpu_native`, as below) or Dawn
(`-lwebgpu_dawn`), CMake finds either; Emscripten has both:

```sh
cc -std=c99 -O2 -Iwgpu/include -o demo *.c -Lwgpu/lib -lwgpu_native -ldl -lpthread
emcc -O2 --use-port=emdawnwebgpu -sASYNCIFY -o demo.html *.c --preload-file weights.bin
```
"""


def export(
    variants: Sequence[Variant],
    folder: Path,
    name: str,
    embed: bool,
    pictures: Pictures = UNKNOWN,
    backend: str | None = None,
) -> None:
    """Write variants of a model as a project called `name` into a folder, made if missing.

    In C, its variable and files are called NAME_model.
    What it runs on is the first of `BACKENDS` for the variants' target unless one is given. "web"
    is an ES module with a page, which shows `pictures`, of one variant; the others are projects of
    C99, whose programs pick the variant that suits the device. All signatures of the variants are
    in it, on the same weights. With `embed`, these become a part of the program.

    OptionError, with all reasons, if a variant cannot be exported or the folder has files already;
    or if it cannot be written, in which case nothing of the project is left.
    """
    signed = [[each, *map(each.specialized, each.plan.specializations)] for each in variants]
    reasons = unsupported([[variant.plan for variant in each] for each in signed])
    fitting = [key for key, target in BACKENDS.items() if target == variants[0].plan.target]
    chosen = backend or next(iter(fitting), "")
    if fitting and chosen not in fitting:
        reasons.append(f"{chosen} runs {BACKENDS[chosen]}, not {variants[0].plan.target}")
    web = chosen == "web"
    if not _NAME.match(name):
        reasons.append(
            f"{name!r} is no name for a model: use up to 57 lower-case letters, digits and "
            "underscores, of which the first is a letter, and which do not begin with tflgpu"
        )
    if web and (embed or len(variants) > 1):
        reasons.append("a project for browsers has one variant, and its weights in a file")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        reasons.append(f"{folder} is not an empty folder")
    if reasons:
        raise OptionError("\n".join(["the model cannot be exported:", *reasons]))
    if web:
        described = {"model": _quoted(variants[0].plan.model), "tensors": _tensors(signed[0])}
        _write(folder, web_files(signed[0], name, pictures, described))
    else:
        _write(folder, _contents(signed, f"{name}_model", chosen, embed))


def _contents(
    variants: Sequence[Sequence[Variant]], name: str, backend: str, embed: bool
) -> dict[str, Any]:
    """The content of each file of a project: as what has the buffer protocol, or in pieces."""
    plan, weights = variants[0][0].plan, join_weights(variants)
    model = tables([*zip(*variants, strict=True)], weights, name, backend, embed)
    texts = {f"{name}.h": header(name)}
    beside = len(weights.content) > 0 and not embed
    values = {
        "name": name,
        "content": "kernels" if beside or not len(weights.content) else "kernels and weights",
        "weights_file": f"| `{WEIGHTS}` | the weights |\n" if beside else "",
        "weights_asset": _ASSET if beside else "",
        "runtime": backend,
        "driver": DRIVERS[backend],
        "webgpu": _WEBGPU if backend == "webgpu" else "",
        "model": _quoted(plan.model),
        "profiles": ", ".join(f"`{each[0].plan.profile}`" for each in variants),
        "tensors": _tensors(variants[0]),
        "signatures": _SIGNATURES if len(variants[0]) > 1 else "",
        "edits": _edits(variants),
    }
    for file in (*PROJECT, *RUNTIME, f"tflgpu_{backend}.c"):
        text = (files(__package__) / "c" / file).read_text(encoding="utf-8")
        texts[file] = filled(text, values) if file in PROJECT else text
    found: dict[str, Any] = {file: text.encode() for file, text in texts.items()}
    found[f"{name}.c"] = (piece.encode() for piece in model)
    if beside:
        found[WEIGHTS] = weights.content
    return found


def _write(folder: Path, contents: Mapping[str, Any]) -> None:
    """Write files into an empty or missing folder, all or none (OptionError)."""
    try:
        try:
            for file, content in contents.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                with (folder / file).open("wb") as opened:
                    opened.writelines(content if isinstance(content, Iterator) else [content])
        except BaseException:
            for path in folder.iterdir() if folder.exists() else ():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            raise
    except OSError as error:
        raise OptionError(f"cannot write {folder}: {error.strerror or error}") from error


def _edits(variants: Sequence[Sequence[Variant]]) -> str:
    """A sentence on the kernels that were changed by hand; "" if none was."""
    edited = [
        f"`{name}` of `{variant.plan.profile}`"
        for signatures in variants
        for variant in signatures
        for name in variant.edited
    ]
    return f"Changed by hand: {', '.join(edited)}.\n" if edited else ""


def unsupported(variants: Sequence[Sequence[Plan]]) -> list[str]:
    """Why variants, each with its signatures' plans, cannot be exported: what is at fault."""
    plans = [each[0] for each in variants]
    first = plans[0]
    reasons = []
    targets = dict.fromkeys(BACKENDS.values())
    if first.target not in targets:
        reasons.append(
            f"it was compiled for {first.target}; compile it with --target {', '.join(targets)}"
        )
    if len(set(signatures_of(first))) <= len(first.specializations):
        listed = "".join(f"\n  {text}" for text in described_choices(first))
        reasons.append(
            f"it was compiled for several input shapes, and a program has those of one for each "
            f"signature; choose them with --signature and --input-shape:{listed}"
        )
    for other, plan in zip(variants[1:], plans[1:], strict=True):
        if plan.target != first.target:
            reasons.append(f"variants are for {first.target} and {plan.target}; export each alone")
        elif [*map(_interface, other)] != [*map(_interface, variants[0])]:
            reasons.append(
                f"the variants for {first.profile} and {plan.profile} differ in their inputs, "
                "outputs or variables; compile them from the same model with the same options"
            )
    obstacles = (reason for each in variants for plan in each for reason in plan.obstacles)
    return [*dict.fromkeys((*reasons, *obstacles))]


def _interface(plan: Plan) -> object:
    """What an application sees of a plan."""
    variables = [(variable.name, variable.size) for variable in plan.variables]
    return plan.signature, plan.inputs, plan.outputs, variables


def _quoted(name: str) -> str:
    """A name of the model, for Markdown, between backticks."""
    return printable(name).replace("`", "'")


def _tensors(signatures: Sequence[Variant]) -> str:
    plans = [variant.plan for variant in signatures]
    if len(plans) == 1:
        return _listed(plans[0])
    return "\n\n".join(f"### {_quoted(plan.signature)}\n\n{_listed(plan)}" for plan in plans)


def _listed(plan: Plan) -> str:
    rows = ["| | name | type | shape | quantization |", "|---|---|---|---|---|"]
    for kind, infos in (("input", plan.inputs), ("output", plan.outputs)):
        rows += [_row(f"{kind} {index}", info) for index, info in enumerate(infos)]
    return "\n".join(rows)


def _row(place: str, info: TensorInfo) -> str:
    quantization = f"{info.scale:g} * (q - {info.zero_point})" if info.scale else ""
    name = _quoted(info.name).replace("|", "\\|")
    cells = (place, f"`{name}`", info.dtype, str(list(info.shape)), quantization)
    return f"| {' | '.join(cells)} |"
