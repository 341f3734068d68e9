"""`CompiledModel`, with the interface of LiteRT's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .details import TYPES
from .file import FileSignature, Model
from .opened import Opened
from .options import Environment, HardwareAccelerator, Options
from .subgraph import Subgraph
from .tensor_buffer import TensorBuffer

# LiteRT's key for the first subgraph of a model without signatures.
PLACEHOLDER = "<placeholder signature>"

Item = TypeVar("Item")


class CompiledModel:
    """A model with the interface of LiteRT's `CompiledModel`, run by tflgpu.

    Inputs and outputs lie in `TensorBuffer`s. Signatures are selected by their key, or by their
    index in the order of the file.
    """

    def __init__(self, model: Opened, environment: Environment) -> None:
        """Applications call `from_file` or `from_buffer`."""
        self._environment = environment
        self._model: Opened | None = model
        # In the order of the file.
        self._signatures: Mapping[str, FileSignature] = model.file.signatures or {
            PLACEHOLDER: _whole(model)
        }
        self._subgraph(0)

    @classmethod
    def from_file(
        cls,
        model_path: str | os.PathLike[str],
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
        *,
        device: str | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> CompiledModel:
        """Compile the model in a file and load it (RuntimeError).

        `device` and `cache` are those of `Interpreter`; LiteRT's options make no difference.
        """
        model = _opened(os.fspath(model_path), device, cache, hardware_accel, options)
        return cls(model, environment or Environment.create())

    @classmethod
    def from_buffer(
        cls,
        model_data: bytes,
        hardware_accel: HardwareAccelerator | None = None,
        environment: Environment | None = None,
        options: Options | None = None,
        *,
        device: str | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> CompiledModel:
        """A compiled model from the content of a model file."""
        model = _opened(bytes(model_data), device, cache, hardware_accel, options)
        return cls(model, environment or Environment.create())

    # -- signatures -------------------------------------------------------------------------

    @property
    def environment(self) -> Environment:
        return self._environment

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """The names of the inputs and outputs of each signature, by its key."""
        return {
            key: {"inputs": list(item.inputs), "outputs": list(item.outputs)}
            for key, item in self._signatures.items()
        }

    def get_signature_by_index(self, index: int) -> dict[str, Any]:
        """The key of a signature, and the names of its inputs and outputs (RuntimeError)."""
        key, signature = self._at(index)
        return {"key": key, "inputs": list(signature.inputs), "outputs": list(signature.outputs)}

    def get_num_signatures(self) -> int:
        return len(self._signatures)

    def get_signature_index(self, key: str) -> int:
        """The index of a signature; -1 if there is none with this key."""
        keys = list(self._signatures)
        return keys.index(key) if key in keys else -1

    def get_input_tensor_details(self, signature_key: str) -> dict[str, dict[str, Any]]:
        """Name, index, dtype and shape of each input, by the signature's names (RuntimeError)."""
        index = self._index(signature_key)
        return self._details(index, self._signatures[signature_key].inputs)

    def get_output_tensor_details(self, signature_key: str) -> dict[str, dict[str, Any]]:
        """Name, index, dtype and shape of each output, by the signature's names (RuntimeError)."""
        index = self._index(signature_key)
        return self._details(index, self._signatures[signature_key].outputs)

    def is_fully_accelerated(self) -> bool:
        """Whether nothing of the first signature runs on LiteRT."""
        return self._subgraph(0).on_device

    def _at(self, index: int) -> tuple[str, FileSignature]:
        if not 0 <= index < len(self._signatures):
            raise RuntimeError(f"the model has no signature {index}")
        return list(self._signatures.items())[index]

    def _index(self, key: str) -> int:
        index = self.get_signature_index(key)
        if index < 0:
            raise RuntimeError(f"Signature not found: {key}")
        return index

    def _subgraph(self, index: int) -> Subgraph:
        """The subgraph of a signature, ready to run."""
        if self._model is None:
            raise RuntimeError("the CompiledModel has been closed")
        subgraph = self._model.subgraph(self._at(index)[1].subgraph)
        subgraph.allocate()
        return subgraph

    def _details(self, index: int, numbers: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each of some tensors, by the signature's names for them."""
        subgraph = self._subgraph(index)
        found = {}
        for name, number in numbers.items():
            info = subgraph.details(number)
            found[name] = {
                "name": info["name"],
                "index": number,
                "dtype": np.dtype(info["dtype"]).name,
                "shape": info["shape"].tolist(),
            }
        return found

    # -- buffers ----------------------------------------------------------------------------

    def get_input_buffer_requirements(
        self, input_index: int, signature_index: int = 0
    ) -> dict[str, Any]:
        """The bytes of an input, and the number of the only type of buffer (RuntimeError)."""
        return _requirements(_nth(self.create_input_buffers(signature_index), input_index))

    def get_output_buffer_requirements(
        self, output_index: int, signature_index: int = 0
    ) -> dict[str, Any]:
        """The bytes of an output, and the number of the only type of buffer (RuntimeError)."""
        return _requirements(_nth(self.create_output_buffers(signature_index), output_index))

    def create_input_buffer_by_name(self, signature_key: str, input_name: str) -> TensorBuffer:
        """A buffer for an input (RuntimeError if there is none with this name)."""
        index = self._index(signature_key)
        return self._buffer(index, self._signatures[signature_key].inputs, input_name)

    def create_output_buffer_by_name(self, signature_key: str, output_name: str) -> TensorBuffer:
        """A buffer for an output (RuntimeError if there is none with this name)."""
        index = self._index(signature_key)
        return self._buffer(index, self._signatures[signature_key].outputs, output_name)

    def create_input_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """A buffer for each input of a signature, in its order (RuntimeError)."""
        names = self._at(signature_index)[1].inputs
        return [self._buffer(signature_index, names, name) for name in names]

    def create_output_buffers(self, signature_index: int) -> list[TensorBuffer]:
        """A buffer for each output of a signature, in its order (RuntimeError)."""
        names = self._at(signature_index)[1].outputs
        return [self._buffer(signature_index, names, name) for name in names]

    def _buffer(self, index: int, numbers: Mapping[str, int], name: str) -> TensorBuffer:
        """A buffer for one of some tensors, by the signature's name for it (RuntimeError)."""
        if name not in numbers:
            raise RuntimeError(f"Tensor not found: {name}")
        info = self._subgraph(index).details(numbers[name])
        if info["dtype"] is TYPES["string"]:
            raise RuntimeError(
                f"tensor {name} holds strings, which a TensorBuffer cannot; use the Interpreter"
            )
        return TensorBuffer(np.zeros(tuple(info["shape"]), info["dtype"]))

    # -- running ----------------------------------------------------------------------------

    def resize_input_tensor(
        self, input_index: int, dims: Sequence[int], signature_index: int = 0, strict: bool = True
    ) -> None:
        """Give an input another shape; its buffers must then be created again.

        RuntimeError if there is no such input, or if, with `strict`, a size changes that the file
        does not leave open.
        """
        index = _nth(list(self._at(signature_index)[1].inputs.values()), input_index)
        shape = tuple(int(size) for size in dims)
        self._subgraph(signature_index).resize(index, shape, strict)

    def resize_input_tensor_by_name(
        self, signature_key: str, input_name: str, dims: Sequence[int], strict: bool = True
    ) -> None:
        """Resize an input by its name (ValueError if there is no such input)."""
        if signature_key not in self._signatures:
            raise ValueError(f"Unknown signature: {signature_key}")
        names = list(self._signatures[signature_key].inputs)
        if input_name not in names:
            raise ValueError(f"Unknown input '{input_name}' for signature '{signature_key}'")
        index = self.get_signature_index(signature_key)
        self.resize_input_tensor(names.index(input_name), dims, index, strict)

    def run_by_index(
        self,
        signature_index: int,
        input_buffers: Sequence[TensorBuffer],
        output_buffers: Sequence[TensorBuffer],
    ) -> None:
        """Run a signature on buffers in its order (RuntimeError)."""
        signature = self._at(signature_index)[1]
        for kind, numbers, buffers in (
            ("Input", signature.inputs, input_buffers),
            ("Output", signature.outputs, output_buffers),
        ):
            if len(numbers) != len(buffers):
                raise RuntimeError(
                    f"{kind} buffer size mismatch: number of {kind.lower()}s:{len(numbers)} vs "
                    f"buffers:{len(buffers)}"
                )
        self._run(
            signature_index,
            dict(zip(signature.inputs.values(), input_buffers, strict=True)),
            dict(zip(signature.outputs.values(), output_buffers, strict=True)),
        )

    def run_by_name(
        self,
        signature_key: str,
        input_map: Mapping[str, TensorBuffer],
        output_map: Mapping[str, TensorBuffer],
    ) -> None:
        """Run a signature on buffers by name (RuntimeError)."""
        index = self._index(signature_key)
        signature = self._signatures[signature_key]
        for kind, names, given in (
            ("input", signature.inputs, input_map),
            ("output", signature.outputs, output_map),
        ):
            if set(names) - set(given):
                raise RuntimeError(f"The given map is missing some {kind} TensorBuffers")
        self._run(
            index,
            {number: input_map[name] for name, number in signature.inputs.items()},
            {number: output_map[name] for name, number in signature.outputs.items()},
        )

    def _run(
        self, index: int, inputs: Mapping[int, TensorBuffer], outputs: Mapping[int, TensorBuffer]
    ) -> None:
        subgraph = self._subgraph(index)
        for number, buffer in inputs.items():
            info = subgraph.details(number)
            subgraph.set(number, buffer.array(info["dtype"], tuple(info["shape"])))
        subgraph.invoke()
        for number, buffer in outputs.items():
            result = subgraph.get(number)
            buffer.array(result.dtype, result.shape)[...] = result

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        """Free the model's memory. It cannot be used afterwards."""
        self._model = None

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _whole(model: Opened) -> FileSignature:
    """The first subgraph under its own names."""
    subgraph = model.file.subgraph(0)
    return FileSignature(
        0,
        {subgraph.tensors[index].name: index for index in subgraph.inputs},
        {subgraph.tensors[index].name: index for index in subgraph.outputs},
    )


def _opened(
    model: Model,
    device: str | None,
    cache: str | os.PathLike[str] | None,
    hardware_accel: HardwareAccelerator | None,
    options: Options | None,
) -> Opened:
    if options is not None and hardware_accel is not None:
        raise ValueError("Pass either options or hardware_accel, not both.")
    try:
        return Opened(model, device, cache)
    except ValueError as error:
        raise RuntimeError(f"Failed to load model: {error}") from error


def _nth(items: Sequence[Item], index: int) -> Item:
    """An input or output by its position (RuntimeError)."""
    if not 0 <= index < len(items):
        raise RuntimeError(f"there is no number {index} among {len(items)} inputs or outputs")
    return items[index]


def _requirements(buffer: TensorBuffer) -> dict[str, Any]:
    return {"buffer_size": buffer.bytes("GetBufferRequirements").size, "supported_types": [1]}
