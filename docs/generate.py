"""Generates the parts of the pages that come from the code.

    python docs/generate.py            updates the pages, the man page tflgpu.1 and plan.fbs
    python docs/generate.py --check    lists outdated pages, with exit code 1 if there are any

A generated part lies between the comments `generated: NAME` and `end`. A block of code after the
comment `file PATH` or `content of PATH` holds the content of that file, if tflgpu has such a file.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from convolutions import convolutions_markdown
from man_page import man_page
from plan_schema import plan_schema
from public_api import api_markdown

from tflgpu.compiler.cli.commands.listing_operators import operators_markdown
from tflgpu.compiler.devices import profiles
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.intrinsics import INTRINSICS
from tflgpu.compiler.intrinsics.intrinsic import Intrinsic
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.options import Options
from tflgpu.compiler.pipeline import build

HERE = Path(__file__).resolve().parent

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

_FILE = re.compile(
    r"(<!-- (?:file|content of) (\S+) -->\n```\w*\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE
)

_NAMES = {"opencl": "OpenCL C", "glsl": "GLSL", "vulkan": "Vulkan", "wgsl": "WGSL"}


def intrinsics_markdown() -> str:
    """The intrinsics of kernels as a table."""
    lines = ["| intrinsic | meaning | defined for |", "|---|---|---|"]
    for entry in INTRINSICS.values():
        languages = ", ".join(_NAMES[name] for name in _NAMES if _defines(entry, name))
        lines.append(f"| `{entry.call}` | {entry.meaning} | {languages} |")
    return "\n".join(lines) + "\n"


def _defines(entry: Intrinsic, language: str) -> bool:
    """Whether a language has a definition of its own; Vulkan and WGSL may use that of GLSL."""
    own = entry.forms.get(language)
    shared = language in ("vulkan", "wgsl") and own == entry.forms.get("glsl")
    return own is not None and not shared


def profiles_markdown() -> str:
    """The device profiles as a table."""
    lines = ["| profile | for | slices of |", "|---|---|---|"]
    for item in profiles().values():
        lines.append(f"| `{item.name}` | {item.description} | {item.slice_width} |")
    return "\n".join(lines) + "\n"


def half_arithmetic_markdown() -> str:
    """The layers with kernels that can multiply and add in half precision, as a table."""
    lines = ["| layer | in half precision | in single |", "|---|---|---|"]
    for name, definition in sorted(OPS.items()):
        kernels: dict[bool, list[str]] = {True: [], False: []}
        for item in definition.implementations:
            kernels[item.half_arithmetic].append(f"`{item.name}`")
        if kernels[True]:
            lines.append(f"| {name} | {', '.join(kernels[True])} | {', '.join(kernels[False])} |")
    return "\n".join(lines) + "\n"


def quantized_kernel_markdown() -> str:
    """The kernel of a 1x1 convolution of int8 with a scale for each channel."""
    steps = Quantization((0.02,), (-3,))
    image, pooled = (
        Tensor(name, (1, size, size, 32), "int8", None, steps)
        for name, size in (("image", 28), ("pooled", 14))
    )
    window = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    pool = Op("MAX_POOL_2D", (image,), (pooled,), {**window, "padding": "SAME"})
    weights = np.arange(64 * 32).reshape(64, 1, 1, 32) % 255 - 127
    scales = Quantization(tuple(0.001 * (n + 1) for n in range(64)), (0,) * 64)
    filters = Tensor("filters", weights.shape, "int8", weights.astype(np.int8), scales)
    bias = Tensor("bias", (64,), "int32", np.arange(64, dtype=np.int32), scales)
    result = Tensor("result", (1, 14, 14, 64), "int8", None, Quantization((0.05,), (4,)))
    return _kernel(_convolution_of(pooled, filters, bias, result, pool), "conv")


def _convolution_of(
    image: Tensor, filters: Tensor, bias: Tensor, result: Tensor, before: Op | None = None
) -> bytes:
    """A model that is one convolution, of its input or of what an operator makes of it."""
    attrs = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "RELU6"}
    graph = Graph()
    graph.inputs = [image if before is None else before.operand(0)]
    graph.input_names = [graph.inputs[0].name]
    graph.outputs, graph.output_names = [result], [result.name]
    if before is not None:
        graph.add(before)
    graph.add(Op("CONV_2D", (image, filters, bias), (result,), attrs))
    return write(graph)


def picture_kernel_markdown() -> str:
    """The kernel that reads a picture for a float convolution."""
    weights = np.arange(8 * 3 * 3 * 3, dtype=np.float32).reshape(8, 3, 3, 3)
    graph = _convolution_of(
        Tensor("image", (1, 224, 224, 3)),
        Tensor("filters", weights.shape, "float32", weights),
        Tensor("bias", (8,), "float32", np.zeros(8, np.float32)),
        Tensor("result", (1, 224, 224, 8)),
    )
    spec = "rgba8, size=1920x1080, resize=bilinear, mean=127.5, std=127.5"
    return _kernel(graph, "picture", inputs=(("image", spec),))


def _kernel(model: bytes, name: str, **options: Any) -> str:
    """The kernel whose file has that name in its own, without its macros."""
    compiled = build(model, Options(target="opencl", device="gpu", fallback="none", **options))
    source = next(text for file, text in compiled.sources.items() if name in Path(file).name)
    return f"```c\n{source[source.index('__kernel') :].rstrip()}\n```\n"


# The function that generates each part, by the name in its marker.
PARTS: dict[str, Callable[[], str]] = {
    "api": api_markdown,
    "intrinsics": intrinsics_markdown,
    "operators": operators_markdown,
    "profiles": profiles_markdown,
    "half_arithmetic": half_arithmetic_markdown,
    "convolutions": convolutions_markdown,
    "picture_kernel": picture_kernel_markdown,
    "quantized_kernel": quantized_kernel_markdown,
}


def current(text: str) -> str:
    """The text of a page with up-to-date generated parts and files."""
    text = _PART.sub(lambda match: f"{match[1]}{PARTS[match[2]]()}{match[3]}", text)
    return _FILE.sub(lambda match: f"{match[1]}{_file(match[2], match[3])}{match[4]}", text)


def _file(path: str, shown: str) -> str:
    """The content of a file of tflgpu, or what a page shows of a file that is an example only."""
    return _read(HERE.parent / path) or shown


def main() -> int:
    contents = {page: current(page.read_text(encoding="utf-8")) for page in HERE.glob("*.md")}
    contents[HERE / "tflgpu.1"] = man_page()
    contents[HERE / "plan.fbs"] = plan_schema()
    stale = sorted(page for page, content in contents.items() if _read(page) != content)
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.name} is outdated; run: python docs/generate.py")
        return 1 if stale else 0
    for page in stale:
        page.write_text(contents[page], encoding="utf-8")
        print(page.name)
    return 0


def _read(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
