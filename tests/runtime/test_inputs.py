"""Arrays for the inputs of a model: the forms they may have, and the errors of others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plans import LENGTH, Opener, chain, chain_result, copy, pair, single

from tflgpu.compiler.ir import Array
from tflgpu.runtime import InputError
from tflgpu.runtime.execution.inputs import PIXELS, reordering
from tflgpu.runtime.plan.records import TensorInfo
from tflgpu.runtime.plan.storage import DEVICE_TYPES

C_TYPES = {"int32": "int", "float32": "float", "int8": "char", "uint8": "uchar"}
# The type of a kernel's elements, by the type of the tensor.
TYPES = {name: C_TYPES[kind] for name, kind in DEVICE_TYPES.items()}


@pytest.mark.parametrize("dtype", TYPES)
def test_each_type_comes_back_unchanged(opened: Opener, dtype: str) -> None:
    x = np.random.default_rng(2).integers(0, 2 if dtype == "bool" else 100, (3, 5)).astype(dtype)
    with opened(copy(TensorInfo("x", (3, 5), dtype), TYPES[dtype])) as session:
        y = session.run(x)["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


FORMS: dict[str, Callable[[Array], Any]] = {
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "other byte order": lambda x: x.astype(">f4"),
    "smaller type": lambda x: x.astype(np.float16),
    "integers": lambda x: x.astype(np.int16),
    "nested list in a list": lambda x: [x.tolist()],
    "by name": lambda x: {"x": x.tolist()},
    "list of integers": lambda x: {"x": x.astype(int).tolist()},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_an_array(opened: Opener, form: str) -> None:
    x = np.random.default_rng(6).integers(1, 50, (3, 5)).astype(np.float32)
    with opened(copy(TensorInfo("x", (3, 5), "float32"))) as session:
        np.testing.assert_array_equal(session.run(FORMS[form](x))["y"], x)


def test_arrays_are_given_together(opened: Opener) -> None:
    """Two in a row are no array and an option."""
    with opened(chain()) as session, pytest.raises(TypeError, match="positional arguments"):
        session.run(*np.zeros((2, LENGTH), np.float32))


REORDERED = {
    "NCHW": ((1, 3, 224, 224), (1, 224, 224, 3), "x.transpose(0, 2, 3, 1)"),
    "CHW": (
        (3, 224, 200),
        (1, 224, 200, 3),
        "x.squeeze().transpose(1, 2, 0).reshape([1, 224, 200, 3])",
    ),
    "NHWC": ((5, 8, 8, 3), (5, 3, 8, 8), "x.transpose(0, 3, 1, 2)"),
    "WHC": ((200, 224, 3), (224, 200, 3), "x.transpose(1, 0, 2)"),
    "no batch": ((8, 8, 1), (1, 8, 8, 1), "x.reshape([1, 8, 8, 1])"),
    "rows": ((64,), (1, 8, 8, 1), None),
    "other pixels": ((1, 3, 4, 6), (1, 2, 12, 3), None),
    "two ways": ((2, 2, 3, 3), (3, 3, 2, 2), "x.transpose(2, 3, 0, 1)"),
}


@pytest.mark.parametrize("case", REORDERED)
def test_axes_in_another_order(case: str) -> None:
    """The call is what it says: it makes the array fit, and moves pixels as a whole."""
    given, wanted, call = REORDERED[case]
    assert reordering(given, wanted) == call
    if call:
        x = np.arange(np.prod(given)).reshape(given)
        assert eval(call, {"x": x}).shape == wanted


@pytest.mark.parametrize("value", [2.5, np.float32(2.5), np.array(2.5, np.float32), [2.5]])
def test_a_scalar_keeps_its_shape(opened: Opener, value: Any) -> None:
    with opened(copy(TensorInfo("x", (), "float32"))) as session:
        y = session.run(value)["y"]
    assert y.shape == ()
    assert y == 2.5


def test_tensors_may_be_empty(opened: Opener) -> None:
    """A tensor without elements has no bytes to copy; other inputs are none the worse."""
    empty = TensorInfo("none", (3, 0), "float32")
    source = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global const float* none, __global const float* x, __global float* y) {
    y[get_global_id(0)] = 2.0f * x[get_global_id(0)];
}
"""
    parts = single(
        source, [empty, TensorInfo("x", (5,), "float32")], TensorInfo("y", (5,), "float32"), 5
    )
    x = np.arange(1, 6, dtype=np.float32)
    with opened(parts) as session:
        np.testing.assert_array_equal(session.run([np.empty((3, 0), np.float32), x])["y"], 2 * x)


ONE = (TensorInfo("x", (2, 3), "float32"),)
BYTES = (TensorInfo("x", (2,), "int8"),)
TWO = (TensorInfo("a", (2,), "float32"), TensorInfo("b", (3, 1), "uint8"))
SINGLES = np.ones((2, 3), np.float32)


class Attached:
    """Like a tensor of PyTorch that requires a gradient."""

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise RuntimeError("detach it first")


BAD_INPUTS: dict[str, tuple[tuple[TensorInfo, ...], Any, str]] = {
    "double": (
        ONE,
        SINGLES.astype(np.float64),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float64 of "
        'shape [2, 3]; convert it: x.astype("float32")',
    ),
    "integers": (
        ONE,
        SINGLES.astype(np.int64),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got int64 of "
        'shape [2, 3]; convert it: x.astype("float32")',
    ),
    "text": (
        ONE,
        "cat.png",
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got <U7 of "
        "shape []",
    ),
    "shape": (
        ONE,
        SINGLES.T,
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float32 of "
        "shape [3, 2]; arrange its axes: x.transpose(1, 0)",
    ),
    "pixels": (
        ONE,
        np.ones((3, 2), np.uint8),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got uint8 of "
        f"shape [3, 2]; {PIXELS}; arrange its axes: x.transpose(1, 0)",
    ),
    "size": (
        ONE,
        SINGLES[:1],
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got float32 of "
        "shape [1, 3]",
    ),
    "ragged": (
        ONE,
        [[[1, 2, 3], [4, 5]]],
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got a "
        "ragged list",
    ),
    "no array": (
        ONE,
        Attached(),
        "the inputs do not match the model:\n  x: expected float32 of shape [2, 3], got "
        "Attached: detach it first",
    ),
    "bare list": (
        ONE,
        SINGLES.tolist(),
        "2 inputs given, but the model has 1 input: x (float32 of shape [2, 3]); a list is taken "
        "as several inputs, so pass an array, or a list of one array",
    ),
    "value": (
        BYTES,
        [[1, 200]],
        "the inputs do not match the model:\n  x: expected int8 of shape [2], got a value that "
        "int8 cannot hold",
    ),
    "fraction": (
        BYTES,
        [[1, 2.5]],
        "the inputs do not match the model:\n  x: expected int8 of shape [2], got float64 of shape "
        '[2]; convert it: x.astype("int8")',
    ),
    "count": (
        TWO,
        SINGLES,
        "1 input given, but the model has 2 inputs: a (float32 of shape [2]), "
        "b (uint8 of shape [3, 1])",
    ),
    "all at once": (
        TWO,
        {"b": np.ones((3, 1)), "c": 1},
        "the inputs do not match the model:\n"
        "  a is missing; expected float32 of shape [2]\n"
        "  c is not an input of the model, which has a, b\n"
        "  b: expected uint8 of shape [3, 1], got float64 of shape [3, 1]; convert it: "
        'x.astype("uint8")',
    ),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_an_input_that_does_not_fit_is_an_error(case: str) -> None:
    from tflgpu.runtime.execution.inputs import arrays_for

    infos, inputs, message = BAD_INPUTS[case]
    with pytest.raises(InputError) as caught:
        arrays_for(infos, inputs)
    assert str(caught.value) == message


def test_session_stays_usable_after_bad_inputs(opened: Opener) -> None:
    a, b = pair()
    with opened(chain()) as session:
        for call in (session.run, session.profile):
            with pytest.raises(InputError, match="b is missing"):
                call({"a": a})
        np.testing.assert_allclose(
            session.run([a, b])["y"], chain_result(a, b), rtol=1e-5, atol=1e-5
        )


def test_real_numbers_are_rounded_to_the_integers_that_stand_for_them(
    opened: Opener,
) -> None:
    """Halves go to even integers, and what is too large to the limits of the type."""
    info = TensorInfo("x", (7,), "int8", 0.5, -3)
    values = np.array([0.0, 0.25, 0.75, -0.26, 61.4, 1e30, -1e30], np.float32)
    with opened(copy(info, "char")) as session:
        found = session.run(values, quantize=True)["y"]
        assert found.tolist() == [-3, -3, -1, -4, 120, 127, -128]
        np.testing.assert_array_equal(session.run(found, quantize=True)["y"], found)
        with pytest.raises(InputError, match=r"x: expected int8 of shape \[7\], got float32"):
            session.run(values)
        with pytest.raises(InputError, match="x: NaN cannot be quantized"):
            session.run({"x": np.full(7, np.nan, np.float32)}, quantize=True)


def test_inputs_that_are_not_quantized_take_what_they_always_do(
    opened: Opener,
) -> None:
    with opened(copy(TensorInfo("x", (3, 5), "float32"), "float")) as session:
        x = np.linspace(0, 1, 15, dtype=np.float32).reshape(3, 5)
        np.testing.assert_array_equal(session.run([x], quantize=True)["y"], x)
