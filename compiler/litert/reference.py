"""LiteRT as an independent reference: the same model on Google's interpreter.

It is imported only when a model is run on it.
"""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

import numpy as np

from ...runtime.errors import InputError, TflgpuError
from ...runtime.litert.module import KernelSet, array_of, interpreter_module, kernel_options
from ...runtime.plan.records import TensorInfo
from ...runtime.quiet import without_notices
from ..errors import ModelError
from ..frontend.model_file import Model
from ..ir import Array, Shape


class ReferenceMissingError(TflgpuError):
    """LiteRT is needed but not installed: pip install 'tflgpu[litert]'."""


def require_litert() -> ModuleType:
    """The module of LiteRT's interpreter (ReferenceMissingError if it is not installed)."""
    try:
        return interpreter_module()
    except ImportError as error:
        raise ReferenceMissingError(
            f"this needs LiteRT, which cannot be imported ({error}): pip install 'tflgpu[litert]'"
        ) from error


def litert_version() -> str:
    """The version of LiteRT, which is not imported for that; "none" if it is not installed."""
    try:
        return version("ai-edge-litert")
    except PackageNotFoundError:
        return "none"


class Reference:
    """A model loaded in LiteRT.

    `input_shapes` replaces input shapes, by tensor name or in order. `kernels` are those that
    run the model. With a `signature`, that one runs: it names the inputs and outputs, and inputs
    must be passed by name. ModelError if LiteRT rejects the model or
    an input shape, ReferenceMissingError if it is not installed.
    """

    def __init__(
        self,
        model: Model,
        *,
        input_shapes: Mapping[str, Shape] | Sequence[Shape] = (),
        threads: int = 1,
        kernels: KernelSet = "built-in",
        signature: str = "",
    ) -> None:
        litert = require_litert()
        source: dict[str, Any] = (
            {"model_content": bytes(model)}
            if isinstance(model, (bytes, bytearray, memoryview))
            else {"model_path": os.fsencode(model)}
        )
        try:
            with without_notices():
                self._interpreter = litert.Interpreter(
                    **source, num_threads=threads, **kernel_options(litert, kernels)
                )
                runner = self._interpreter.get_signature_runner
                self._runner = runner(signature) if signature else None
                if self._runner is None:  # a signature's runner resizes its inputs itself
                    self._resize(input_shapes)
                    self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"LiteRT cannot load this model: {_first_line(error)}") from error

    def _resize(self, input_shapes: Mapping[str, Shape] | Sequence[Shape]) -> None:
        details = self._interpreter.get_input_details()
        places = [item["index"] for item in details]
        if isinstance(input_shapes, Mapping):
            names = [item["name"] for item in details]
            for name in input_shapes:
                if name not in names:
                    raise ModelError(f"no input {name!r}; the model has {', '.join(names)}")
            places = [places[names.index(name)] for name in input_shapes]
            input_shapes = list(input_shapes.values())
        for place, shape in zip(places, input_shapes, strict=False):
            self._interpreter.resize_tensor_input(place, shape)

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """The model's inputs, in order."""
        return self._infos("input")

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """The model's outputs, in order."""
        return self._infos("output")

    def _infos(self, kind: str) -> tuple[TensorInfo, ...]:
        details = getattr(self._runner or self._interpreter, f"get_{kind}_details")()
        if self._runner is not None:
            details = [{**item, "name": name} for name, item in details.items()]
        return tuple(map(_info, details))

    def run(self, inputs: Mapping[str, Array] | Sequence[Array]) -> tuple[Array, ...]:
        """Run the model on arrays, by tensor name or in order; returns the outputs in order.

        InputError if an array is missing or does not have its input's shape and type, ModelError
        if an operator fails.
        """
        if self._runner is not None:
            return self._run_signature(inputs)
        details = self._interpreter.get_input_details()
        for position, item in enumerate(details):
            self._interpreter.set_tensor(item["index"], _checked(inputs, position, item))
        try:
            self._interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"LiteRT failed on this model: {_first_line(error)}") from error
        outputs = self._interpreter.get_output_details()
        return tuple(array_of(self._interpreter, item) for item in outputs)

    def _run_signature(self, inputs: Mapping[str, Array] | Sequence[Array]) -> tuple[Array, ...]:
        names = [info.name for info in self.inputs]
        if not isinstance(inputs, Mapping) or set(names) - set(inputs):
            raise InputError(f"pass the signature's inputs by name: {', '.join(names)}")
        assert self._runner is not None
        try:
            results = self._runner(**{name: inputs[name] for name in names})
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"LiteRT failed on this model: {_first_line(error)}") from error
        return tuple(results.values())


def _info(item: Mapping[str, Any]) -> TensorInfo:
    scale, zero_point = item["quantization"]
    return TensorInfo(
        item["name"],
        tuple(int(size) for size in item["shape"]),
        np.dtype(item["dtype"]).name,
        float(scale),
        int(zero_point),
    )


def _checked(
    inputs: Mapping[str, Array] | Sequence[Array], position: int, item: Mapping[str, Any]
) -> Array:
    """The array for one input; InputError if it is missing or has the wrong shape or type."""
    info = _info(item)
    try:
        array = inputs[info.name] if isinstance(inputs, Mapping) else inputs[position]
    except (KeyError, IndexError):
        raise InputError(f"no array is given for input {info.name}") from None
    if array.shape != info.shape or array.dtype.name != info.dtype:
        raise InputError(
            f"input {info.name}: got {array.dtype.name}{list(array.shape)}, but the model takes "
            f"{info.dtype}{list(info.shape)}"
        )
    return array


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
