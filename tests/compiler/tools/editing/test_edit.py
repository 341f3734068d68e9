"""Kernels changed by hand: compared, timed and kept, on every device."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from devices import ATTACHED, Attached, reached
from graphs import call, model, x
from paths import DIGITS_MODEL
from plans import LENGTH, chain, chain_result, pair
from plans.chain import constants

import tflgpu
import tflgpu.compiler
from tflgpu.compiler.emit.edits import apply_edits
from tflgpu.compiler.ir import Array
from tflgpu.compiler.tools.editing.edit import Trial, check_editable, edit_kernel, revert_kernel
from tflgpu.runtime import BuildError, InputError, PlanError, load
from tflgpu.runtime.cache.binaries import BINARIES
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.plan.file import from_bytes, to_bytes

# For what is the same on every device.
on_one_device = pytest.mark.parametrize("attached", ATTACHED[:1], indirect=True, ids=str)
ALL = 1e9  # A tolerance that allows everything.


@pytest.fixture(params=ATTACHED, ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every device."""
    return reached(request)


@pytest.fixture
def folder(tmp_path: Path, attached: Attached) -> Path:
    """The chain y = 3 * (2 * (a + b) * second) - first, of a kernel for each operation."""
    return chain(target=attached.target).write(tmp_path / "cache")


def source(folder: Path, name: str) -> str:
    """The present text of a kernel."""
    variant = read_variant(folder)
    (kernel,) = (kernel for kernel in variant.plan.kernels if kernel.name == name)
    return variant.sources[kernel.file]


def changed(folder: Path, name: str, old: str, new: str) -> str:
    text = source(folder, name)
    assert text.count(old) == 1
    return text.replace(old, new)


def scaled(folder: Path, attached: Attached, factor: str) -> str:
    """The kernel `scale` with another factor than 2."""
    old, new = {
        "opencl": ("FACTOR 2.0f", f"FACTOR {factor}f"),
        "glsl": ("2.0 * x[i]", f"{factor} * x[i]"),
        "wgsl": ("2.0 * x[i]", f"{factor} * x[i]"),
    }[attached.target]
    return changed(folder, "scale", old, new)


def tried(folder: Path, attached: Attached, text: str, **options: object) -> Trial:
    a, b = pair()
    given: dict[str, object] = {"inputs": {"a": a, "b": b}, "device": attached.device, **options}
    return edit_kernel(folder, "scale", text, **given)  # type: ignore[arg-type]


def result(folder: Path, attached: Attached) -> Array:
    a, b = pair()
    with load(folder, device=attached.device) as session:
        computed: Array = session.run({"a": a, "b": b})["y"]
    return computed


def with_factor(factor: float) -> Array:
    """What the chain computes if `scale` has this factor."""
    a, b = pair()
    first, second = constants()
    return np.asarray(3 * (factor * (a + b) * second) - first)


def test_the_same_results(folder: Path, attached: Attached) -> None:
    trial = tried(folder, attached, scaled(folder, attached, "2.00"), keep=False)
    assert trial.ok and not trial.kept and trial.kernel == "scale"
    (launch,) = trial.launches
    assert (launch.dispatch, launch.label) == (1, "MUL -> scaled")
    (written,) = launch.outputs
    assert (written.name, written.max_error) == ("scaled", 0)
    assert [item.max_error for item in trial.outputs] == [0] and trial.litert == ()
    for timed in (launch, trial):
        assert min(timed.before, timed.after) > 0
        assert timed.ratio == pytest.approx(timed.after / timed.before)
    assert read_variant(folder).plan == chain(target=attached.target).plan


def test_other_results_are_not_kept(folder: Path, attached: Attached) -> None:
    trial = tried(folder, attached, scaled(folder, attached, "2.5"), keep=True)
    assert not trial.ok and not trial.kept
    (written,) = trial.launches[0].outputs
    (output,) = trial.outputs
    a, b = pair()
    wrong = np.abs(0.5 * (a + b) * constants()[1]).max()
    assert written.max_error == pytest.approx(wrong, 1e-5)
    assert output.max_error == pytest.approx(3 * wrong, 1e-5)
    assert output.tolerance == pytest.approx(1e-4 * np.abs(with_factor(2)).max(), 1e-5)
    np.testing.assert_allclose(result(folder, attached), with_factor(2), 1e-5, 1e-5)


def test_what_is_not_written_is_seen(folder: Path, attached: Attached) -> None:
    """Even if the memory happens to hold the right numbers: the original has run there before."""
    text = changed(
        folder, "scale", "  y[i] =", f"  if (i == {LENGTH - 1}u) {{ return; }}\n  y[i] ="
    )
    (written,) = tried(folder, attached, text).launches[0].outputs
    assert written.problem == (
        f"is NaN at [{LENGTH - 1}] where the original's is not (1 of {LENGTH} elements)"
    )


def test_kept_and_reverted(folder: Path, attached: Attached) -> None:
    """The driver's binaries of the text before are not used."""
    np.testing.assert_allclose(result(folder, attached), with_factor(2), 1e-5, 1e-5)
    assert (folder / BINARIES).exists() == attached.keeps_binaries
    trial = tried(folder, attached, scaled(folder, attached, "2.5"), keep=True, tolerance=ALL)
    assert trial.kept and trial.folder == folder
    assert read_variant(folder).edited == ("scale",)
    for _ in range(2):  # compiled, then restored
        np.testing.assert_allclose(result(folder, attached), with_factor(2.5), 1e-5, 1e-5)
    assert revert_kernel(folder, "scale") == folder
    assert read_variant(folder).plan == chain(target=attached.target).plan
    assert not (folder / "originals").exists()
    np.testing.assert_allclose(result(folder, attached), chain_result(*pair()), 1e-5, 1e-5)
    with pytest.raises(InputError, match="kernel scale is not edited"):
        revert_kernel(folder, "scale")


@on_one_device
def test_a_second_edit_is_compared_with_the_original(folder: Path, attached: Attached) -> None:
    add = changed(folder, "add", "a[i] + b[i]", "b[i] + a[i]")
    edit_kernel(folder, "add", add, device=attached.device, keep=True)
    tried(folder, attached, scaled(folder, attached, "2.5"), keep=True, tolerance=ALL)
    assert read_variant(folder).edited == ("add", "scale")
    trial = tried(folder, attached, changed(folder, "scale", "2.5", "2.25"), tolerance=ALL)
    a, b = pair()
    wrong = np.abs(0.25 * (a + b) * constants()[1]).max()
    assert trial.launches[0].outputs[0].max_error == pytest.approx(wrong, 1e-5)
    revert_kernel(folder, "add")
    assert read_variant(folder).edited == ("scale",)


@on_one_device
def test_compiling_again_keeps_an_edit(folder: Path, attached: Attached) -> None:
    tried(folder, attached, scaled(folder, attached, "2.5"), keep=True, tolerance=ALL)
    assert chain(target=attached.target).write(folder.parents[1]) == folder
    assert read_variant(folder).edited == ("scale",)
    (original,) = folder.glob("originals/kernels/*")
    original.write_text("damaged")
    with pytest.raises(PlanError, match=f"{original.name} is damaged"):
        read_variant(folder)
    assert chain(target=attached.target).write(folder.parents[1]) == folder
    assert read_variant(folder).edited == ()


def test_a_file_changed_in_the_cache_is_not_ignored(folder: Path, attached: Attached) -> None:
    """Though the driver's binary of the text before is there."""
    result(folder, attached)
    text = scaled(folder, attached, "2.5")
    (file,) = folder.glob("kernels/*scale*")
    file.write_text(text)
    advice = rf"changed by hand: compile .*tflgpu edit {folder} scale FILE"
    with pytest.raises(PlanError, match=advice):
        load(folder, device=attached.device)
    with pytest.warns(tflgpu.CacheWarning, match=rf"tflgpu edit {folder} KERNEL FILE"):
        chain(target=attached.target).write(folder.parents[1])
    assert (folder / "changed" / file.name).read_text() == text
    np.testing.assert_allclose(result(folder, attached), with_factor(2), 1e-5, 1e-5)


def test_a_rejected_text(folder: Path, attached: Attached, tmp_path: Path) -> None:
    """Messages name the file of the user, or else the kernel's."""
    text = changed(folder, "scale", "  y[i] =", "\n  oops(i);\n  y[i] =")
    line = text.splitlines().index("  oops(i);") + 1
    file = tmp_path / "mine.cl"
    file.write_text(text)
    with pytest.raises(BuildError, match=r"rejected .*mine\.cl") as error:
        edit_kernel(folder, "scale", file, device=attached.device)
    assert f":{line}" in error.value.log
    with pytest.raises(BuildError, match="rejected kernels/001_scale"):
        edit_kernel(folder, "scale", text, device=attached.device)
    with pytest.raises(InputError, match=r"cannot read .*none.cl"):
        edit_kernel(folder, "scale", tmp_path / "none.cl", device=attached.device)
    with pytest.raises(InputError, match="the text of scale includes another file"):
        edit_kernel(folder, "scale", f'#include "x"\n{text}', device=attached.device)
    with pytest.raises(InputError, match="'divide' matches no kernel; choose one of: add, scale"):
        edit_kernel(folder, "divide", text, device=attached.device)


def test_a_persistent_kernel_follows(opencl_device: str, tmp_path: Path) -> None:
    """On a processor one launch computes the whole network; it has the changed body, too."""
    folder = tflgpu.compile(DIGITS_MODEL, tmp_path, device=opencl_device)
    image = {"image": np.random.default_rng(7).random((1, 8, 8, 1), np.float32)}
    before = read_variant(folder)
    (softmax,) = (index for index, k in enumerate(before.plan.kernels) if "softmax" in k.name)
    halved = before.sources[before.plan.kernels[softmax].file].replace("/ total", "/ total * 0.5f")
    trial = edit_kernel(
        folder,
        softmax,
        halved,
        model=DIGITS_MODEL,
        inputs=image,
        device=opencl_device,
        tolerance=1,
        keep=True,
    )
    (written,) = trial.launches[0].outputs
    (output,) = trial.outputs
    (litert,) = trial.litert
    with load(folder, device=opencl_device) as session:
        probabilities = session.run(image)["probabilities"]
        assert session.plan.launches == before.plan.launches
    assert probabilities.sum() == pytest.approx(0.5, abs=1e-6)
    for item in (written, output, litert):
        assert item.max_error == pytest.approx(probabilities.max(), rel=1e-4)


def test_only_bodies_are_carried_over() -> None:
    compiled = tflgpu.compiler.build(DIGITS_MODEL, tflgpu.Options(device="cpu_avx2"))
    plan, sources = compiled.plan, compiled.sources
    persistent = plan.kernels[-1]
    texts = {}
    for index in (0, 2):
        kernel = plan.kernels[index]
        body = kernel.bodies[0]
        content = sources[kernel.file]
        assert content.isascii()
        end = body.start + body.size
        longer = f"\n  // number {index}{content[body.start : end]}"
        texts[index] = f"// changed\n{content[: body.start]}{longer}{content[end:]}\n\n"
    edited = apply_edits(plan, sources, texts)
    assert edited.plan.edits == (0, 2)
    assert from_bytes(to_bytes(edited.plan)) == edited.plan
    expected = sources[persistent.file]
    for index in (0, 2):
        kernel = edited.plan.kernels[index]
        assert edited.sources[kernel.file] == texts[index]
        (own,) = kernel.bodies
        own_text = texts[index][own.start : own.start + own.size]
        assert own_text.startswith(f"\n  // number {index}")
        expected = expected.replace(own_text.removeprefix(f"\n  // number {index}"), own_text)
    assert edited.sources[persistent.file] == expected
    for body, single in zip(edited.plan.kernels[-1].bodies, edited.plan.kernels[:-1], strict=True):
        there = expected[body.start : body.start + body.size]
        lies = single.bodies[0]
        assert there == edited.sources[single.file][lies.start : lies.start + lies.size]
    assert set(edited.originals) == {
        "originals/plan.tflgpu",
        *(f"originals/{plan.kernels[index].file}" for index in (0, 2, -1)),
    }
    assert apply_edits(plan, sources, {0: sources[plan.kernels[0].file]}).plan == plan


def test_what_cannot_be_edited() -> None:
    compiled = tflgpu.compiler.build(DIGITS_MODEL, tflgpu.Options(device="cpu_avx2"))
    plan, sources = compiled.plan, compiled.sources
    persistent = plan.kernels[-1].name
    with pytest.raises(
        InputError, match=f"{persistent} consists of other kernels.* conv_linear_000"
    ):
        check_editable(plan, len(plan.kernels) - 1)
    text = sources[plan.kernels[0].file]
    line = next(n for n, item in enumerate(text.splitlines(), 1) if item.startswith("__kernel"))
    other = text.replace("__kernel", "__kernel /* mine */", 1)
    with pytest.raises(InputError, match=f"^line {line} of conv_linear_000 was .*{persistent}"):
        apply_edits(plan, sources, {0: other})
    with pytest.raises(InputError, match=r"^what follows the closing brace of conv_linear_000 was"):
        apply_edits(plan, sources, {0: f"{text}\nvoid more() {{}}"})
    with pytest.raises(InputError, match="kernels for vulkan do not run here"):
        check_editable(replace(plan, target="vulkan"), 0)


def test_models_for_several_input_shapes_cannot_be_edited(tmp_path: Path) -> None:
    content = model({"y": call("NEG", x(1, 16))}).content
    shapes = [{"y/in0": (batch, 16)} for batch in (1, 3)]
    folder = tflgpu.compile(content, tmp_path, device="gpu", input_shapes=shapes)
    with pytest.raises(InputError, match="was compiled for several choices of input shapes"):
        edit_kernel(folder, 0, "")
