"""Why CONV_2D has so many implementations: who chooses each, and what it gains.

    python docs/convolutions.py DEVICE [TARGET]    measures on an attached device

Each is measured with a layer that it is for, behind a pooling: the time of a run with it, divided
by that of a run in which the next best implementation computes the layer, medians of runs in turns.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import cast

import numpy as np

import tflgpu
from tflgpu.compiler import pipeline
from tflgpu.compiler.devices import Profile, profiles
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.options import Options, TargetName
from tflgpu.compiler.pipeline import select, target_of
from tflgpu.runtime.session import Session

ROUNDS = 200


@dataclass(frozen=True)
class Layer:
    """A convolution that an implementation is for."""

    size: int  # Of the image, which is square.
    inputs: int
    outputs: int
    window: int = 3
    stride: int = 1
    groups: int = 1
    dtype: str = "float32"
    first: bool = False  # Whether it reads the model's input.

    def __str__(self) -> str:
        more = f", stride {self.stride}" * (self.stride > 1)
        more += f", {self.groups} groups" * (self.groups > 1) + ", first layer" * self.first
        kind = f"{self.dtype}, " if self.dtype != "float32" else ""
        channels = f"{self.inputs} to {self.outputs} channels"
        return f"{kind}{self.window}x{self.window}{more}, {self.size} x {self.size}, {channels}"


@dataclass(frozen=True)
class Place:
    """An implementation's place among the others."""

    layer: Layer
    pocl: str = ""  # The share of the time that a run takes with it; "" if it is not chosen there.
    llvmpipe: str = ""


NONE = "no other computes it"

# By name, in the order of preference. Measured on 2026-11-26 with Debian's PoCL 3.1 and Mesa's
# llvmpipe 22.3 on two cores of an AMD EPYC with AVX-512 and VNNI.
PLACES = {
    "conv_bytes": Place(Layer(28, 256, 256, 1, dtype="int8"), "0.37"),
    "conv_bytes_from_linear": Place(Layer(224, 3, 32, stride=2, dtype="int8", first=True), "0.87"),
    "split_sums": Place(Layer(1, 1280, 1000, 1), "", "0.51"),
    "conv_shared": Place(Layer(7, 576, 160, 1)),
    "conv_thin": Place(Layer(128, 32, 1), "0.37", "0.78"),
    "conv_1x1": Place(Layer(28, 24, 144, 1), "0.90", "0.73"),
    "winograd": Place(Layer(56, 64, 64), "0.47"),
    "conv": Place(Layer(28, 64, 64, 5), "1.01", "0.73"),
    "conv_linear": Place(Layer(224, 3, 32, stride=2, first=True), "0.85", "1.00"),
    "conv_grouped": Place(Layer(56, 32, 32, groups=16), NONE, NONE),
}


def model(layer: Layer) -> bytes:
    """A network of a layer, behind a pooling unless it is the first."""
    real = layer.dtype == "float32"
    steps = None if real else Quantization((0.05,), (0,))
    fine = None if real else Quantization((0.01,) * layer.outputs, (0,) * layer.outputs)
    sums = None if real else Quantization((0.0005,) * layer.outputs, (0,) * layer.outputs)
    size, after = layer.size, -(-layer.size // layer.stride)
    shape = (layer.outputs, layer.window, layer.window, layer.inputs // layer.groups)
    values = np.random.default_rng(7).integers(-99, 99, shape).astype(layer.dtype)
    bias = np.zeros(layer.outputs, "float32" if real else "int32")
    image = Tensor("image", (1, size, size, layer.inputs), layer.dtype, None, steps)
    pooled = Tensor("pooled", image.shape, layer.dtype, None, steps)
    result = Tensor("result", (1, after, after, layer.outputs), layer.dtype, None, steps)
    weights = Tensor("weights", shape, layer.dtype, values, fine)
    added = Tensor("bias", bias.shape, str(bias.dtype), bias, sums)
    graph = Graph()
    graph.inputs, graph.input_names = [image], ["image"]
    graph.outputs, graph.output_names = [result], ["result"]
    attrs = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    if not layer.first:
        pool = {"filter_width": 2, "filter_height": 2, **attrs}
        graph.add(Op("MAX_POOL_2D", (image,), (pooled,), pool))
    attrs |= {"stride_w": layer.stride, "stride_h": layer.stride}
    source = image if layer.first else pooled
    graph.add(Op("CONV_2D", (source, weights, added), (result,), attrs))
    return write(graph)


def chosen(content: bytes, options: Options) -> str:
    """The name of the implementation of the convolution; "" if rewrites leave none."""
    found = select(content, options, target_of(options)).choice.items()
    names = [each.name.split("_to_")[0] for op, each in found if op.name == "CONV_2D"]
    return names[0] if names else ""


def convolutions_markdown() -> str:
    """The implementations as a table."""
    lines = ["| implementation | measured with | chosen for it by | PoCL | llvmpipe |"]
    lines.append("|---|---|---|---|---|")
    for name, place in PLACES.items():
        content = model(place.layer)
        choices = ((each.name, chosen(content, _options(each))) for each in profiles().values())
        using = [f"`{profile}`" for profile, choice in choices if choice == name]
        others = [f"`{each}`" for each in profiles() if f"`{each}`" not in using]
        who = ", ".join(using)
        if len(others) < len(using):
            who = f"all but {', '.join(others)}" if others else "all"
        cells = (f"`{name}`", str(place.layer), who, place.pocl, place.llvmpipe)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _options(profile: Profile) -> Options:
    return Options(target=cast(TargetName, profile.targets[0]), device=profile.name)


@contextmanager
def without(name: str) -> Iterator[None]:
    """Let the compiler know nothing of an implementation."""
    whole = OPS["CONV_2D"]
    others = tuple(each for each in whole.implementations if each.name != name)
    OPS["CONV_2D"] = replace(whole, implementations=others)
    try:
        yield
    finally:
        OPS["CONV_2D"] = whole


def measure(name: str, device: str, target: TargetName) -> str:
    """The share of the time of a run with an implementation, and what else would compute it."""
    content = model(PLACES[name].layer)
    options = Options(device=device, target=target, fallback="none")
    if chosen(content, options) != name:
        return "not chosen"
    with TemporaryDirectory() as cache:
        own = pipeline.write(pipeline.build(content, options), Path(cache) / "own")
        with without(name):
            try:
                other = chosen(content, options)
            except tflgpu.UnsupportedError:
                return "nothing else computes it"
            path = pipeline.write(pipeline.build(content, options), Path(cache) / "other")
        with tflgpu.load(own, device=device) as one, tflgpu.load(path, device=device) as two:
            times = [(_seconds(one), _seconds(two)) for _ in range(ROUNDS)]
    first, second = (median(each) for each in zip(*times[ROUNDS // 10 :], strict=True))
    return f"{first / second:.2f} of {other}, {first * 1e3:.3f} ms"


def _seconds(session: Session) -> float:
    images = [np.zeros(info.shape, info.dtype) for info in session.inputs]
    start = perf_counter()
    session.run(images)
    return perf_counter() - start


if __name__ == "__main__":
    device, target = (*sys.argv[1:], "opencl")[:2]
    for name in PLACES:
        print(f"{name}: {measure(name, device, cast(TargetName, target))}", flush=True)
