"""`CompiledModel` and `TensorBuffer`: the same as LiteRT's, and the same kinds of errors."""

from pathlib import Path
from typing import Any

import ai_edge_litert.compiled_model as litert
import numpy as np
import pytest
from devices import opencl_devices, unavailable
from graphs import model
from graphs.interfaces import EXPRESSIONS, batches
from graphs.operators import file_of
from graphs.signatures import SHAPE, two_signatures

from tflgpu.compiler.ir import Op, Tensor
from tflgpu.litert import (
    CompiledModel,
    CpuOptions,
    Environment,
    EnvironmentOptions,
    HardwareAccelerator,
    Options,
    TensorBuffer,
)

REGRESSION = model(EXPRESSIONS["regression"]).content
PLAIN = "<placeholder signature>"


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Makes a model on the first device, with a cache of its own."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    places: dict[str, Any] = {"device": opencl_devices()[0], "cache": tmp_path / "cache"}
    return lambda content, **options: CompiledModel.from_buffer(content, **options, **places)


@pytest.mark.parametrize("content", [REGRESSION, two_signatures(), batches()])
def test_signatures_and_details_are_those_of_litert(content: bytes, make: Any) -> None:
    ours, theirs = make(content), litert.CompiledModel.from_buffer(content)
    assert ours.get_signature_list() == theirs.get_signature_list()
    assert ours.get_num_signatures() == theirs.get_num_signatures()
    for index, key in enumerate(theirs.get_signature_list()):
        assert ours.get_signature_index(key) == index
        assert ours.get_signature_by_index(index) == theirs.get_signature_by_index(index)
        for name in ("get_input_tensor_details", "get_output_tensor_details"):
            assert getattr(ours, name)(key) == getattr(theirs, name)(key)
        for name in ("get_input_buffer_requirements", "get_output_buffer_requirements"):
            assert getattr(ours, name)(0, index) == getattr(theirs, name)(0, index)
    assert ours.get_signature_index("none") == -1


def test_options_are_accepted(make: Any) -> None:
    environment = Environment.create(runtime_path="somewhere")
    options = Options(HardwareAccelerator.GPU | HardwareAccelerator.CPU, CpuOptions(num_threads=2))
    with environment, make(REGRESSION, environment=environment, options=options) as compiled:
        assert compiled.environment is environment and compiled.is_fully_accelerated()
    assert environment.options == EnvironmentOptions("somewhere")
    with pytest.raises(ValueError, match="not both"):
        make(REGRESSION, hardware_accel=HardwareAccelerator.CPU, options=options)
    with pytest.raises(ValueError, match="either options or"):
        Environment.create(options=EnvironmentOptions(), runtime_path="somewhere")


def test_an_input_of_another_size(make: Any) -> None:
    compiled = make(batches())
    small = compiled.create_output_buffers(0)
    compiled.resize_input_tensor(0, [3, 5])
    compiled.resize_input_tensor_by_name(PLAIN, "class/in0", (4, 5))
    assert compiled.get_output_tensor_details(PLAIN)["class"]["shape"] == [4, 3]
    inputs, outputs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    inputs[0].write(np.ones((4, 5), np.float32))
    compiled.run_by_index(0, inputs, outputs)
    assert outputs[0].read(12, np.float32).reshape(4, 3).sum(1) == pytest.approx(1)
    with pytest.raises(RuntimeError, match="takes 48 bytes, but its buffer has 12"):
        compiled.run_by_index(0, inputs, small)
    with pytest.raises(RuntimeError, match="ResizeInputTensorStrict"):
        compiled.resize_input_tensor(0, [4, 6])
    with pytest.raises(ValueError, match="Unknown input 'x'"):
        compiled.resize_input_tensor_by_name(PLAIN, "x", [4, 5])
    with pytest.raises(ValueError, match="Unknown signature: x"):
        compiled.resize_input_tensor_by_name("x", "x", [4, 5])


def test_what_does_not_fit(make: Any) -> None:
    for compiled in (make(two_signatures()), litert.CompiledModel.from_buffer(two_signatures())):
        inputs, outputs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
        for action, arguments in (
            (compiled.run_by_index, (0, inputs[:1], outputs)),
            (compiled.run_by_index, (0, inputs, outputs[:1])),
            (compiled.run_by_name, ("none", {}, {})),
            (compiled.run_by_name, ("far", {"left": inputs[0]}, {})),
            (compiled.get_input_tensor_details, ("none",)),
            (compiled.create_input_buffer_by_name, ("far", "none")),
            (compiled.create_output_buffer_by_name, ("far", "none")),
        ):
            with pytest.raises(RuntimeError):
                action(*arguments)


def test_an_input_of_one_signature_is_resized(make: Any) -> None:
    compiled, shape = make(two_signatures()), [2, 5, 7, 3]
    compiled.resize_input_tensor_by_name("near", "left", shape, strict=False)
    for key, found in (("near", shape), ("far", list(SHAPE))):
        assert compiled.get_input_tensor_details(key)["left"]["shape"] == found


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for kind in (CompiledModel, litert.CompiledModel):
        with pytest.raises(RuntimeError):
            kind.from_file(str(tmp_path / "nowhere.tflite"))
        with pytest.raises(RuntimeError):
            kind.from_buffer(b"nothing of the kind")


def test_a_closed_model(make: Any) -> None:
    compiled = make(REGRESSION)
    inputs, outputs = compiled.create_input_buffers(0), compiled.create_output_buffers(0)
    compiled.close()
    with pytest.raises(RuntimeError, match="has been closed"):
        compiled.run_by_index(0, inputs, outputs)


def test_a_buffer_holds_bytes() -> None:
    memory = np.arange(6, dtype=np.float32).reshape(2, 3)
    buffer = TensorBuffer.create_from_host_memory(memory)
    assert buffer.get_tensor_details() == {"dtype": "float32", "shape": [2, 3]}
    buffer.write(np.array([7.5], np.float32))
    assert memory[0].tolist() == [7.5, 1, 2]
    assert buffer.read(2, "float32").tolist() == [7.5, 1]
    assert buffer.read(4, np.uint8).tolist() == [0, 0, 240, 64]
    buffer.destroy()
    with pytest.raises(RuntimeError, match="destroyed"):
        buffer.read(1, np.float32)


def test_what_a_buffer_refuses() -> None:
    for kind in (TensorBuffer, litert.TensorBuffer):
        buffer = kind.create_from_host_memory(np.zeros(3, np.float32))
        with pytest.raises(RuntimeError, match="larger than the tensor buffer"):
            buffer.write(np.zeros(4, np.float32))
        with pytest.raises(RuntimeError, match="larger than the tensor buffer"):
            buffer.read(4, np.float32)
        wrong: Any
        for wrong in ([1.0], np.zeros(3)):
            with pytest.raises(ValueError):
                buffer.write(wrong)
        for dtype in (np.float64, "no type"):
            with pytest.raises(ValueError, match="Unsupported dtype"):
                buffer.read(1, dtype)
        with pytest.raises(ValueError, match="C-contiguous"):
            kind.create_from_host_memory(np.zeros((3, 3), np.float32).T[:2])


def test_what_has_no_such_number(make: Any) -> None:
    model = make(REGRESSION)
    with pytest.raises(RuntimeError, match="the model has no signature 1"):
        model.get_signature_by_index(1)
    with pytest.raises(RuntimeError, match="there is no number 1 among 1"):
        model.get_input_buffer_requirements(1)
    with pytest.raises(RuntimeError, match="there is no number -1"):
        model.get_output_buffer_requirements(-1)
    with pytest.raises(RuntimeError, match="there is no number 5"):
        model.resize_input_tensor(5, [1])


def test_strings_have_no_buffers(make: Any) -> None:
    text, column = Tensor("text", (3,), "string"), Tensor("column", (3, 1), "string")
    compiled = make(file_of(Op("RESHAPE", (text,), (column,), {"new_shape": (3, 1)})))
    for create in (compiled.create_input_buffers, compiled.create_output_buffers):
        with pytest.raises(RuntimeError, match="holds strings, which a TensorBuffer cannot"):
            create(0)
