"""What LiteRT makes of a model, asked in a process of its own: a model may crash LiteRT.

    python -m tflgpu.runtime.litert.probe

answers requests until its input ends. A request is a pickled pair: the name of a function in
`FUNCTIONS`, and its arguments. An answer is a line of JSON, again a pair: the text of an error, ""
for none, and the result. The numbers of a run's outputs follow that line, as many bytes as their
shapes and types tell. Importing this module is cheap, unlike the compiler, which asks.
"""

import json
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..launch.memory import Array
from .dataflow import check_dataflow
from .module import KernelSet, array_of, interpreter_module, kernel_options

Shape = tuple[int, ...]

# Shape and dtype of each input, and of each output: None for a shape known only in a run.
Interface = tuple[list[tuple[Shape, str]], list[tuple[Shape | None, str]]]

# An output of a run: its name, shape, dtype, scale and zero point; and its numbers.
Output = tuple[tuple[str, Shape, str, float, int], Array]


def interface(content: bytes) -> Interface:
    """The interface of a part's model, loaded and checked as `LoadedPart` does."""
    interpreter = _interpreter(content, {})
    check_dataflow(content)
    interpreter.allocate_tensors()
    return (
        [(_sizes(item), _dtype(item)) for item in interpreter.get_input_details()],
        [(_shape(interpreter, item), _dtype(item)) for item in interpreter.get_output_details()],
    )


def tensor_shapes(model: str | bytes, input_shapes: Mapping[str, Shape]) -> dict[str, Shape | None]:
    """The shape of each tensor of the first subgraph, by name; None if known only in a run.

    `input_shapes` replaces shapes of inputs, by name. Names that several tensors share are left
    out.
    """
    own = kernel_options(interpreter_module(), "built-in")
    interpreter = _interpreter(model, {"experimental_preserve_all_tensors": True, **own})
    for item in interpreter.get_input_details():
        if item["name"] in input_shapes:
            interpreter.resize_tensor_input(item["index"], input_shapes[item["name"]])
    interpreter.allocate_tensors()
    shapes: dict[str, Shape | None] = {}
    twice = set()
    for item in interpreter.get_tensor_details():
        if item["name"] in shapes:
            twice.add(item["name"])
        shapes[item["name"]] = _shape(interpreter, item)
    return {name: shape for name, shape in shapes.items() if name not in twice}


def run(
    model: str | bytes,
    inputs: Sequence[Array] | Mapping[str, Array],
    signature: str = "",
    kernels: KernelSet = "XNNPACK",
) -> list[Output]:
    """The outputs of a run on arrays in order, or by name for a signature; texts are padded."""
    interpreter = _interpreter(model, kernel_options(interpreter_module(), kernels))
    if signature:
        assert isinstance(inputs, Mapping)
        runner = interpreter.get_signature_runner(signature)
        found = runner(**inputs)
        items = runner.get_output_details()
        return [_output(name, items[name], array) for name, array in found.items()]
    assert isinstance(inputs, Sequence)
    details = interpreter.get_input_details()
    for item, array in zip(details, inputs, strict=True):
        interpreter.resize_tensor_input(item["index"], array.shape)
    interpreter.allocate_tensors()
    for item, array in zip(details, inputs, strict=True):
        interpreter.set_tensor(item["index"], array)
    interpreter.invoke()
    return [
        _output(item["name"], item, array_of(interpreter, item))
        for item in interpreter.get_output_details()
    ]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "interface": interface,
    "run": run,
    "tensor_shapes": tensor_shapes,
}


def _output(name: str, item: Mapping[str, Any], array: Array) -> Output:
    plain = np.ascontiguousarray(array, "S" if array.dtype.kind == "O" else None)
    scale, zero_point = item["quantization"]
    return (name, array.shape, plain.dtype.str, float(scale), int(zero_point)), plain


def _interpreter(model: str | bytes, options: Mapping[str, Any]) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    if isinstance(model, str):
        return Interpreter(model_path=os.fsencode(model), **options)
    return Interpreter(model_content=model, **options)


def _sizes(item: Mapping[str, Any]) -> Shape:
    return tuple(int(size) for size in item["shape"])


def _dtype(item: Mapping[str, Any]) -> str:
    dtype = np.dtype(item["dtype"])
    return "string" if dtype.kind in "SO" else dtype.name


def _shape(interpreter: Any, item: Mapping[str, Any]) -> Shape | None:
    if _dtype(item) == "string":
        return None  # reading strings before a run would crash the process
    try:
        interpreter.get_tensor(item["index"])
    except ValueError:  # it is allocated during the run
        return None
    return _sizes(item)


def main() -> None:
    """Answer requests from standard input on standard output."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # LiteRT prints, which must not end up between answers
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        problem, result = "", None
        arrays: list[Array] = []
        try:
            result = FUNCTIONS[name](*arguments)
            if name == "run":
                result, arrays = [each for each, _ in result], [array for _, array in result]
        except MemoryError:
            raise  # which says nothing about the model
        except Exception as error:
            problem = str(error).strip() or type(error).__name__
        answers.write(json.dumps((problem, result)).encode() + b"\n")
        for array in arrays:
            answers.write(array.tobytes())
        answers.flush()


if __name__ == "__main__":
    main()
