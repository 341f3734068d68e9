"""`Session.run(check=True)`: an index out of bounds is named, on every device."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from devices import Attached
from graphs import Call, Part, Value, affine, call, ints, known, model, number, typed, x, xi
from plans import SIZE, chain

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.ir import Array
from tflgpu.runtime import InputError, PlanError, Session
from tflgpu.runtime.plan.records import Argument, IndexCheck, Region
from tflgpu.runtime.plan.validate import validate

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def opened(values: dict[str, Value], attached: Attached, folder: Path) -> Session:
    profile = "cpu" if attached.target == "opencl" else "gpu"
    options = Options(target=attached.target, device=profile, fallback="none")
    stored = pipeline.write(pipeline.build(model(values).content, options), folder)
    return tflgpu.load(stored, device=attached.device or "auto", store_binaries=False)


def i32(*values: int | list[int]) -> Array:
    return np.array(values, np.int32)


def computed(value: Value) -> Value:
    """A value that a kernel of its own computes."""
    return typed("int32", "MAXIMUM", value, ints(-5))


@dataclass(frozen=True)
class Wrong:
    """A model, inputs of which one index is out of bounds, and what is said of it."""

    value: Value
    inputs: list[Array]
    said: str


CASES = {
    "GATHER": Wrong(
        call("GATHER", x(4, 3), xi(2), axis=0),
        [TABLE, i32(3, 4)],
        "operator 0 GATHER: the index 4 at [1] of y/in1",
    ),
    "negative": Wrong(
        call("GATHER", x(4, 3), xi(2), axis=1),
        [TABLE, i32(-1, 0)],
        "operator 0 GATHER: the index -1 at [0] of y/in1",
    ),
    "scalar": Wrong(
        call("GATHER", x(4, 3), xi(), axis=0),
        [TABLE, np.array(4, np.int32)],
        "operator 0 GATHER: the index 4 at [] of y/in1",
    ),
    "computed": Wrong(
        call("GATHER", x(4, 3), computed(xi(2, 2)), axis=0),
        [TABLE, i32([0, 3], [9, 10])],
        "operator 1 GATHER: the index 9 at [1, 0] of",
    ),
    "constant": Wrong(
        call("GATHER", x(4, 3), known(i32(0, 5)), axis=0),
        [TABLE],
        "operator 0 GATHER: the index 5 at [1] of",
    ),
    "GATHER_ND": Wrong(
        call("GATHER_ND", x(4, 3), xi(2, 2)),
        [TABLE, i32([3, 2], [2, 3])],
        "operator 0 GATHER_ND: the index 3 at [1, 1] of y/in1",
    ),
    "SCATTER_ND": Wrong(
        call("SCATTER_ND", computed(xi(2, 1)), x(2, 3), ints(4, 3)),
        [i32([3], [17]), TABLE[:2]],
        "operator 1 SCATTER_ND: the index 17 at [1, 0] of",
    ),
    "EMBEDDING_LOOKUP": Wrong(
        call("EMBEDDING_LOOKUP", xi(2), x(4, 3)),
        [i32(1, 4), TABLE],
        "operator 0 EMBEDDING_LOOKUP: the index 4 at [1] of y/in0",
    ),
    "of bytes": Wrong(
        call("EMBEDDING_LOOKUP", xi(2), known(TABLE.astype(np.int8), affine(0.1))),
        [i32(1, 4)],
        "operator 0 EMBEDDING_LOOKUP: the index 4 at [1] of y/in0",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_index_out_of_bounds_is_named(name: str, attached: Attached, tmp_path: Path) -> None:
    case = CASES[name]
    with opened({"y": case.value}, attached, tmp_path) as session:
        with pytest.raises(InputError) as caught:
            session.run(case.inputs, check=True)
        assert str(caught.value).startswith(case.said)
        (check,) = session.plan.index_checks
        assert f"{check.tensor} is out of bounds; it must be at least 0 and" in str(caught.value)
        session.run(case.inputs)
        if name == "constant":
            return
        inside = [np.clip(a, 0, 1) if a.dtype == np.int32 else a for a in case.inputs]
        (expected,) = session.run(inside).values()
        session.poison()
        (found,) = session.run(inside, check=True).values()
        np.testing.assert_array_equal(found, expected)


def test_indices_that_lie_within_another_tensor(attached: Attached, tmp_path: Path) -> None:
    """They are half of the columns of what is split, so there are gaps between them."""
    axis = number(1, "int32")
    split = Call("SPLIT", (axis, computed(xi(4, 16))), {"num_splits": 2}, dtype="int32", outputs=2)
    value = call("GATHER", x(4, 3), Part(split, 1), axis=0)
    with opened({"y": value}, attached, tmp_path) as session:
        (check,) = session.plan.index_checks
        assert check.pitch == 2 * check.length == 64
        inputs = {info.name: np.zeros(info.shape, info.dtype) for info in session.inputs}
        inputs["y/in1"][2, 13] = 7
        with pytest.raises(InputError, match=r"the index 7 at \[2, 5\] of"):
            session.run(inputs, check=True)


def test_dispatches_of_a_persistent_kernel_are_checked_one_by_one(
    opencl_device: str, tmp_path: Path
) -> None:
    case = CASES["computed"]
    with opened({"y": case.value}, Attached("opencl", opencl_device), tmp_path) as session:
        assert session.plan.persistent
        with pytest.raises(InputError, match="the index 9"):
            session.run(case.inputs, check=True)


def test_constants_within_bounds_and_indices_of_the_compiler_need_no_check() -> None:
    near = model({"y": call("GATHER", x(4, 3), known(i32(0, 3)), axis=0)})
    assert pipeline.build(near.content, Options(device="cpu")).plan.index_checks == ()
    ids, values = known(np.arange(2000, dtype=np.int32)[:, None]), x(2000, 64)
    scattered = model({"y": call("SCATTER_ND", ids, values, ints(3000, 64))})
    assert pipeline.build(scattered.content, Options(device="cpu")).plan.index_checks == ()


def test_what_is_known_at_compile_time_is_refused_then() -> None:
    value = call("ADD", call("GATHER", known(TABLE), known(i32(0, 4)), axis=0), x(2, 3))
    with pytest.raises(ModelError, match=r"0 GATHER: the index 4 at \[1\] is out of bounds"):
        pipeline.build(model({"y": value}).content, Options(device="cpu"))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dispatch": 3}, "are checked before dispatch 3 of 3, out of order"),
        ({"shape": (2, 99)}, r"of shape \[2, 99\] do not fit in 52 bytes"),
        ({"pitch": 100}, r"of shape \[2, 1\] do not fit in 52 bytes"),
        ({"pitch": 2}, r"of shape \[2, 1\] do not fit"),
        ({"length": 0}, r"of shape \[2, 1\] do not fit"),
        ({"limits": (1, 2, 3)}, r"of shape \[2, 1\] have 3 limits"),
        ({"limits": ()}, r"of shape \[2, 1\] have 0 limits"),
    ],
)
def test_checks_that_do_not_fit_are_refused(changes: dict[str, object], text: str) -> None:
    place = Argument(Region.ARENA, 0, 0, SIZE, False)
    check = IndexCheck(1, "4 GATHER", "ids", (2, 1), place, 4, 8, (5,))
    validate(chain().replacing(index_checks=(check,)).plan)
    broken = chain().replacing(index_checks=(replace(check, **changes),))  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=f"the indices ids of 4 GATHER {text}"):
        validate(broken.plan)
