"""A model compiled for several input shapes: each run takes the plan for the shapes it is given."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from devices import Attached, is_gpu
from graphs import State, call, model, w, x
from plans import chain

import tflgpu
from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.choices import each_choice
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import InputError, PlanError, Session, input_shapes
from tflgpu.runtime.cache.variant import PLAN, read_variant
from tflgpu.runtime.input_shapes import matching
from tflgpu.runtime.launch.callers_memory import CallersMemory
from tflgpu.runtime.plan.records import Region, TensorInfo
from tflgpu.runtime.plan.validate import validate

CHOICES = ((1, 11, 13, 3), (4, 11, 13, 3), (2, 17, 7, 3))
CONV = {"padding": "SAME", "stride_h": 2, "stride_w": 2}


@cache
def content() -> bytes:
    convolved = call("CONV_2D", x(*CHOICES[0]), w(5, 3, 3, 3), w(5), **CONV)
    return model({"y": call("LOGISTIC", convolved)}).content


@cache
def case(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """An input of that shape, and LiteRT's output."""
    values = np.random.default_rng(len(shape) + shape[0]).standard_normal(shape, np.float32)
    (expected,) = Reference(content(), input_shapes=[shape]).run([values])
    return values, expected


def compiled(folder: Path, target: tflgpu.compiler.options.TargetName = "opencl") -> Path:
    choices = [{"y/in0": shape} for shape in CHOICES]
    device = "cpu" if target == "opencl" else "gpu"
    return tflgpu.compile(content(), folder, target=target, device=device, input_shapes=choices)


@pytest.fixture
def session(attached: Attached, tmp_path: Path) -> Iterator[Session]:
    with tflgpu.load(compiled(tmp_path, attached.target), device=attached.device) as opened:
        yield opened


def test_each_run_takes_its_shape(session: Session) -> None:
    assert [choice["y/in0"] for choice in session.input_shapes] == list(CHOICES)
    assert list(session._model._loaded) == [0]
    for shape in (*CHOICES, *CHOICES[::-1]):
        values, expected = case(shape)
        session.poison()
        assert difference(session.run(values)["y"], expected) is None
        assert difference(session.read("y"), expected) is None
    memories = [each.memory.buffers for each in session._model._loaded.values()]
    assert len(memories) == len(CHOICES)
    # One buffer of weights, and one arena for the largest and what is loaded after it.
    assert len({str(buffers[Region.WEIGHTS, 0]) for buffers in memories}) == 1
    assert memories[2][Region.ARENA, 0] == memories[1][Region.ARENA, 0]
    with pytest.raises(InputError) as caught:
        session.run(np.zeros((3, 11, 13, 3), np.float32))
    assert all(f"y/in0 {list(shape)}" in str(caught.value) for shape in (*CHOICES, (3, 11, 13, 3)))


def test_bound_and_streamed(session: Session) -> None:
    for shape in CHOICES[:2]:
        values, expected = case(shape)
        result = np.zeros_like(expected)
        with session.bind({"y/in0": values}, {"y": result}) as bound:
            bound.submit().wait()
        assert difference(result, expected) is None
        into = np.zeros_like(expected)
        assert session.run(values, outputs={"y": into})["y"] is into
        assert difference(into, expected) is None
    frames = [CHOICES[number] for number in (0, 1, 1, 1, 0, 2, 0)]
    found = [outputs["y"] for outputs in session.stream((case(shape)[0] for shape in frames), 2)]
    assert len(found) == len(frames)
    for shape, result in zip(frames, found, strict=True):
        assert difference(result, case(shape)[1]) is None


def test_each_choice_of_a_stream_is_checked(session: Session) -> None:
    """Any of its outputs may have no fixed size where those of the first have."""
    other = session._model.for_inputs(case(CHOICES[1])[0], None)
    fixed, unknown = (replace(other.plan.outputs[0], dynamic=dynamic) for dynamic in (False, True))
    other.plan = replace(other.plan, outputs=(fixed, unknown))
    found = session.stream(case(shape)[0] for shape in (CHOICES[0], CHOICES[0], *CHOICES[1:]))
    with pytest.raises(InputError, match="y has a shape that only a run determines"):
        list(found)


def test_a_choice_made_by_name(session: Session) -> None:
    chosen = session.with_shapes({"y/in0": CHOICES[1]})
    values, expected = case(CHOICES[1])
    assert [info.shape for info in chosen.inputs] == [CHOICES[1]]
    assert chosen.input_shapes == ({"y/in0": CHOICES[1]},)
    assert difference(chosen.run(values)["y"], expected) is None
    # Bytes have no shape that would choose.
    raw = bytearray(values.tobytes())
    with chosen.bind({"y/in0": raw}) as bound:
        bound.run()
    with pytest.raises(InputError, match="y/in0 has no shape"):
        session.bind({"y/in0": raw})
    with pytest.raises(InputError, match="those of no choice"):
        session.with_shapes({"y/in0": (5, 5)})
    with pytest.raises(InputError, match="of several choices"):
        session.with_shapes({})
    for shapes in ((5, 5), {"y/in0": 5}):
        with pytest.raises(
            InputError, match="no mapping of names to shapes; give one of:\n  y/in0"
        ):
            session.with_shapes(shapes)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected float32 of shape"):
        chosen.run(case(CHOICES[0])[0])
    session.run(case(CHOICES[0])[0])
    with pytest.raises(InputError, match="a run with these input shapes"):
        chosen.read("y")
    assert len(chosen.profile(values)) == len(chosen.plan.dispatches)


def test_mapped_inputs_of_each_choice(tmp_path: Path, opencl_device: str) -> None:
    if is_gpu(opencl_device):
        pytest.skip("its memory is its own")
    with tflgpu.load(compiled(tmp_path), device=opencl_device) as session:
        for shape in CHOICES[:2]:
            values, expected = case(shape)
            chosen = session.with_shapes({"y/in0": shape})
            mapped = chosen.map_input("y/in0")
            mapped[...] = values
            result = np.zeros_like(expected)
            with session.bind({"y/in0": mapped}, {"y": result}) as bound:
                bound.run()
            assert difference(result, expected) is None


@pytest.mark.parametrize(("shape", "texture"), [((), False), ((5, 7, 4), True)])
def test_memory_without_a_shape_fits_each_choice(
    shape: tuple[int, ...], texture: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer, and a texture, which has no batch. Other inputs choose."""
    memory = CallersMemory("", "", None, shape=shape, texture=texture)

    def known(value: object) -> CallersMemory | None:
        return memory if value is memory else None

    monkeypatch.setattr(input_shapes, "callers_memory", known)
    infos = [TensorInfo("x", (1, 5, 7, 4), "float32"), TensorInfo("n", (3,), "float32")]
    choices = [{"x": (1, 5, 7, 4), "n": (3,)}, {"x": (1, 9, 7, 4), "n": (2,)}]
    assert matching(choices, infos, {"x": memory, "n": np.zeros(2, np.float32)}) == 1
    with pytest.raises(InputError, match="x has no shape to choose the input shapes by"):
        matching(choices, infos, {"x": memory})


def test_weights_are_stored_once(tmp_path: Path) -> None:
    alone, *choices = ({"y/in0": (batch, 11, 13, 3)} for batch in (4, 8, 2))
    single = tflgpu.compile(content(), tmp_path, device="cpu", input_shapes=alone)
    several = tflgpu.compile(content(), tmp_path, device="cpu", input_shapes=[alone, *choices])
    # In an order of their own, that of all shapes.
    first, second = (
        np.fromfile(folder / "weights.bin", np.float32) for folder in (single, several)
    )
    assert np.array_equal(np.sort(first), np.sort(second))
    assert not list(several.glob("choices/*/weights.bin"))
    plan = read_variant(several).plan
    assert [item.inputs[0].shape[0] for item in plan.specializations] == [8, 2]


@pytest.mark.parametrize("fallback", [(), ("ADD",)])
def test_variables_belong_to_one_choice(tmp_path: Path, fallback: tuple[str, ...]) -> None:
    state = State((2, 3))
    kept = model({"y": call("ADD", x(2, 3), state)}).content
    choices = [{"y/in0": shape} for shape in ((2, 3), (1, 3))]
    with pytest.raises(OptionError, match="model keeps variables from run to run"):
        tflgpu.compile(kept, tmp_path, device="cpu", input_shapes=choices, fallback_ops=fallback)


def test_each_input_has_as_many_shapes() -> None:
    """The n-th shapes of all inputs are the n-th choice."""
    shapes = (("a", (1, 3)), ("b", (1, 5)), ("a", (2, 3)), ("b", (2, 5)))
    first, second = each_choice(content(), Options(device="cpu", input_shapes=shapes))
    assert (first.input_shapes, second.input_shapes) == (shapes[:2], shapes[2:])
    with pytest.raises(OptionError, match="2 for a, 1 for b: give as many for each input"):
        Options(device="cpu", input_shapes=shapes[:3])
    with pytest.raises(OptionError, match=r"lead to the same inputs: y/in0 \[1, 11, 13, 3\]"):
        pipeline.build(content(), Options(device="cpu", input_shapes=(("y/in0", CHOICES[0]),) * 2))


def test_a_damaged_choice_is_found(tmp_path: Path) -> None:
    folder = compiled(tmp_path)
    file = folder / "choices" / "2" / PLAN
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(PlanError, match=r"choices/2/plan\.tflgpu is damaged"):
        read_variant(folder)
    assert compiled(tmp_path) == folder
    read_variant(folder)
    file.write_bytes((folder / "choices" / "1" / PLAN).read_bytes())
    with pytest.raises(PlanError, match=r"choices/2/plan\.tflgpu is damaged"):
        read_variant(folder)


def test_a_plan_states_the_inputs_of_its_choices(tmp_path: Path) -> None:
    shapes = tuple(("y/in0", shape) for shape in CHOICES)
    made = pipeline.build(content(), Options(device="cpu", input_shapes=shapes))
    second, third = made.plan.specializations
    swapped = (replace(second, inputs=third.inputs), replace(third, inputs=second.inputs))
    wrong = replace(made, plan=replace(made.plan, specializations=swapped))
    with pytest.raises(PlanError, match=r"choices/1/plan\.tflgpu is not the plan that"):
        read_variant(pipeline.write(wrong, tmp_path))
    twice = replace(made.plan, specializations=(second, replace(third, inputs=second.inputs)))
    with pytest.raises(PlanError, match="two choices of a signature and input shapes"):
        validate(twice)
    away = replace(made.plan, specializations=(replace(second, folder="../choices/1"), third))
    with pytest.raises(PlanError, match=r"'\.\./choices/1' is not in a folder choices/NUMBER"):
        validate(away)


def test_missing_inputs_are_named(tmp_path: Path, opencl_device: str) -> None:
    """With two inputs, of which one decides."""
    added = model({"y": call("ADD", x(2, 3), x(2, 3))}).content
    choices = [{"y/in0": (n, 3), "y/in1": (n, 3)} for n in (2, 5)]
    path = tflgpu.compile(added, tmp_path, device="cpu", input_shapes=choices)
    ones = np.ones((5, 3), np.float32)
    with tflgpu.load(path, device=opencl_device) as session:
        np.testing.assert_array_equal(session.run([ones, ones])["y"], 2 * ones)
        with pytest.raises(InputError, match="y/in1 is missing"):
            session.run({"y/in0": ones})
        with pytest.raises(InputError, match=r"compiled for y/in0 \[5, 3\], y/in1 \[2, 3\]"):
            session.run([ones, ones[:2]])
        with pytest.raises(InputError, match="2 inputs"):
            session.run(ones)
        # A shape is enough to choose by, and an input that is bound may be bytes.
        with session.bind({"y/in0": ones, "y/in1": bytearray(ones.tobytes())}) as bound:
            bound.run()


def test_a_plan_without_choices_has_one(tmp_path: Path, opencl_device: str) -> None:
    with tflgpu.load(chain().write(tmp_path), device=opencl_device) as session:
        (choice,) = session.input_shapes
        assert choice == {info.name: info.shape for info in session.inputs}
        assert session.with_shapes(choice).plan is session.plan
