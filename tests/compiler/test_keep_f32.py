"""Operators kept in single precision: named by the user, or found by a search."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import run
from cases.convolutions import window
from devices import need_programs
from graphs import Model, call, model, w, x
from graphs.values import Constant

from tflgpu.compiler.errors import OptionError
from tflgpu.compiler.keep_f32 import AUTO, TOLERANCE, relative_error, search, settle
from tflgpu.compiler.keep_f32.samples import Samples
from tflgpu.compiler.keep_f32.search import _Search
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import Options, Precision
from tflgpu.compiler.pipeline import build
from tflgpu.runtime.errors import TflgpuWarning
from tflgpu.runtime.plan.records import TensorInfo

HALF = Options(precision="f16", device="gpu", fallback="none")


def periodic() -> Model:
    """The sine of large numbers, which half precision does not resolve, and a layer beside it."""
    image = call("ABS", x(1, 6, 6, 32))
    far = call("ADD", image, Constant((), values=np.array(300, np.float32)))
    sine = call("SIN", call("CONV_2D", far, w(32, 1, 1, 32), w(32), **window()))
    plain = call("CONV_2D", image, w(16, 1, 1, 32), w(16), **window())
    return model({"sine": sine, "plain": call("TANH", plain)})


def error(made: Model, options: Options, folder: Path, device: str) -> float:
    found = run(build(made.content, options), device, folder, made.inputs).values()
    expected = Reference(made.content).run(made.inputs)
    return max(map(relative_error, found, expected))


def test_kept_operators_mend_a_result(opencl_device: str, tmp_path: Path) -> None:
    made = periodic()
    assert error(made, HALF, tmp_path / "half", opencl_device) > 0.1
    for item in ("CONV_2D", 3, "sine/ADD1.0"):
        kept = replace(HALF, keep_f32=(item,))
        assert error(made, kept, tmp_path / str(item)[:5], opencl_device) < TOLERANCE


def test_the_search_keeps_what_it_must(opencl_device: str, tmp_path: Path) -> None:
    made = periodic()
    options = replace(HALF, device=opencl_device)
    found = settle(made.content, replace(options, keep_f32=AUTO)).keep_f32
    # One kernel computes the convolution and its sine.
    assert len(found) == 1 and found[0] in (1, 2, 3)
    assert error(made, replace(options, keep_f32=found), tmp_path, opencl_device) < TOLERANCE


def test_the_search_keeps_nothing_where_half_precision_suffices(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device shows it, without a copy of the model."""
    monkeypatch.delattr(search, "Losses")
    plain = model({"plain": call("TANH", x(1, 6, 6, 32))})
    options = replace(HALF, device=opencl_device, keep_f32=AUTO)
    assert settle(plain.content, options).keep_f32 == ()


def test_the_search_says_if_a_tolerance_cannot_be_met(opencl_device: str) -> None:
    options = replace(HALF, device=opencl_device, keep_f32=AUTO)
    with pytest.raises(OptionError, match="even if all operators are kept; raise the tolerance"):
        settle(periodic().content, options, tolerance=1e-12)


def test_the_search_keeps_more_where_the_device_loses_more(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[int, ...]] = []

    def measure(search: Any, kept: tuple[int, ...]) -> float:
        measured.append(kept)
        return 0.0 if len(kept) >= 4 else 0.05

    monkeypatch.setattr(_Search, "_measure", measure)
    options = replace(HALF, device=opencl_device, keep_f32=AUTO)
    kept = settle(periodic().content, options).keep_f32
    assert measured[-1] == kept and len(kept) >= 4
    counts = list(map(len, measured))
    assert counts == sorted(set(counts)) and counts[:2] == [0, 1]


def test_the_search_looks_into_few_groups() -> None:
    """One of 36 operators loses much, and is found in fewer trials than there are operators."""
    need_programs("glslangValidator")
    image = call("ABS", x(1, 6, 6, 32))
    far = call("ADD", image, Constant((), values=np.array(300, np.float32)))
    sine = call("SIN", call("CONV_2D", far, w(32, 1, 1, 32), w(32), **window()))
    size = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
    plain = image
    for _ in range(32):
        plain = call("MAX_POOL_2D", plain, padding="SAME", **size)
    made = model({"sine": sine, "plain": plain})
    trials: list[int] = []
    with pytest.warns(TflgpuWarning, match="no device measured the error"):
        found = settle(
            made.content,
            replace(HALF, target="vulkan", keep_f32=AUTO),
            progress=lambda _, done, total: trials.append(done),
        ).keep_f32
    assert len(found) == 1 and found[0] in (1, 2, 3)
    assert trials[-1] <= 20


def test_without_a_device_the_copies_decide() -> None:
    need_programs("glslangValidator")
    options = replace(HALF, target="vulkan", keep_f32=AUTO)
    with pytest.warns(TflgpuWarning, match="no device measured the error, which is only est"):
        found = settle(periodic().content, options).keep_f32
    assert len(found) == 1 and found[0] in (1, 2, 3)


def test_samples_are_of_several_kinds_and_always_the_same() -> None:
    info = TensorInfo("image", (1, 24, 16, 3), "float32")
    image = model({"sum": call("ABS", x(1, 24, 16, 3))}).content
    first, again = (Samples(image, [info], "").inputs for _ in range(2))
    assert len(first) == 4
    assert all(np.array_equal(a["image"], b["image"]) for a, b in zip(first, again, strict=True))
    assert first[1]["image"].min() >= 0
    patches = first[3]["image"]
    assert np.array_equal(patches[:, ::3], patches[:, 2::3])
    assert len(np.unique(patches[..., 0])) == 64


def test_samples_beyond_single_precision_are_left_out() -> None:
    """The logarithm of numbers below zero tells nothing about half precision."""
    info = TensorInfo("image", (1, 8, 8, 3), "float32")
    samples = Samples(model({"log": call("LOG", x(1, 8, 8, 3))}).content, [info], "")
    assert [arrays["image"].min() >= 0 for arrays in samples.inputs] == [True]
    none = Samples(model({"log": call("LOG", call("NEG", x(1, 8, 8, 3)))}).content, [info], "")
    assert len(none.inputs) == 4


def test_weights_are_halved_except_for_kept_operators() -> None:
    layer = call("CONV_2D", x(1, 6, 6, 64), w(64, 3, 3, 64), w(64), **window())
    content = model({"layer": layer}).content
    single, half, kept = (
        len(build(content, options).weights)
        for options in (
            replace(HALF, precision="f32", disable_passes=("lower_to_winograd",)),
            HALF,
            replace(HALF, keep_f32=("CONV_2D",)),
        )
    )
    assert half == single / 2 and kept == single


def test_a_weight_beyond_half_precision_stays_in_single() -> None:
    need_programs("glslangValidator")
    large = Constant((8,), values=np.full(8, 1e6, np.float32))
    made = model({"sum": call("CONV_2D", x(1, 4, 4, 8), w(8, 1, 1, 8), large, **window())})
    with pytest.warns(TflgpuWarning, match="0 CONV_2D.* up to 1e.06, and half precision"):
        compiled = build(made.content, HALF)
    assert np.frombuffer(compiled.weights, np.float32)[:8].tolist() == [1e6] * 8
    # The search tries to round it all the same.
    with pytest.warns(TflgpuWarning, match="no device measured the error"):
        found = settle(made.content, replace(HALF, target="vulkan", keep_f32=AUTO)).keep_f32
    assert found == (0,)


@pytest.mark.parametrize(
    "precision, keep, message",
    [
        ("f16", ("SOFTMAX",), "no operator or computed tensor 'SOFTMAX'"),
        ("f32", ("SIN",), "with precision='f32' all operators are in single precision"),
        ("f16", "SIN", "give operators by name or index"),
    ],
)
def test_a_wrong_name_is_an_error(precision: Precision, keep: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        build(periodic().content, replace(HALF, precision=precision, keep_f32=keep))
