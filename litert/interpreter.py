"""`Interpreter`, with the interface of LiteRT's."""

import enum
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..compiler.ir import Array
from ..runtime.custom_op import CustomOp
from .details import operator_details
from .file import FileSignature
from .opened import Opened
from .options import Delegate
from .subgraph import Subgraph


class SignatureRunner:
    """A function that takes a signature's inputs by keyword and returns its outputs by name.

    `Interpreter.get_signature_runner` makes them.
    """

    def __init__(self, subgraph: Subgraph, signature: FileSignature) -> None:
        self._subgraph = subgraph
        self._inputs, self._outputs = by_name(signature.inputs), by_name(signature.outputs)

    def __call__(self, **inputs: Array) -> dict[str, Array]:
        """Run the signature on arrays, whose shapes its inputs then have.

        ValueError if they are not the inputs, or not of their types; RuntimeError if the model
        cannot be compiled for these shapes, or fails.
        """
        if len(inputs) != len(self._inputs):
            raise ValueError(
                "Invalid number of inputs provided for running a SignatureDef, expected "
                f"{len(self._inputs)} vs provided {len(inputs)}"
            )
        for name, value in inputs.items():
            if name not in self._inputs:
                raise ValueError(f"Invalid Input name ({name}) for SignatureDef")
            self._subgraph.resize(self._inputs[name], tuple(value.shape), strict=False)
        self._subgraph.allocate()
        for name, value in inputs.items():
            self._subgraph.set(self._inputs[name], value)
        self._subgraph.invoke()
        return {name: self._subgraph.get(index) for name, index in self._outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each input, by the signature's name for it."""
        return {name: self._subgraph.details(index) for name, index in self._inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """LiteRT's dictionary about each output, by the signature's name for it."""
        return {name: self._subgraph.details(index) for name, index in self._outputs.items()}


def by_name(numbers: Mapping[str, int]) -> dict[str, int]:
    """Tensor indices sorted by name, as LiteRT's interpreter has them."""
    return dict(sorted(numbers.items()))


class OpResolverType(enum.Enum):
    """LiteRT's choices of kernels, which make no difference here."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class Interpreter:
    """A model with the interface of LiteRT's `Interpreter`, run by tflgpu.

    >>> interpreter = Interpreter("model.tflite")
    >>> interpreter.allocate_tensors()
    >>> interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image)
    >>> interpreter.invoke()
    >>> result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

    Tensors have LiteRT's indices, and methods raise LiteRT's types of errors.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Sequence[Delegate] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        experimental_disable_delegate_clustering: bool = False,
        experimental_default_delegate_latest_features: bool = False,
        experimental_compress_quantization_zero_points: bool = False,
        experimental_disable_delegate_node_fusion: bool = False,
        experimental_force_delegate_node_profiling: bool = False,
        *,
        device: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        custom_ops: Mapping[str, CustomOp] | None = None,
        input_shapes: Sequence[Mapping[str, Sequence[int]]] = (),
    ) -> None:
        """Open a model, given as a file or as its content (ValueError).

        With `experimental_preserve_all_tensors`, `get_tensor` reads intermediate tensors as well.
        `device` is the one to run on, as in `tflgpu.load`, "auto" if not given, and `cache` the
        folder of compiled models, one in the user's cache folder if not given. `custom_ops` has
        functions for operators, as for `tflgpu.load`. `input_shapes` are choices of input shapes by
        name, as for `tflgpu.compile`, that are compiled at once and share their weights on the
        device; resizing inputs to one of them then compiles nothing. The other options choose among
        LiteRT's own kernels: they are checked, and make no difference. A warning says that
        delegates are not used.
        """
        if not isinstance(experimental_op_resolver_type, enum.Enum):
            raise ValueError(
                f"Unrecognized passed in op resolver type: {experimental_op_resolver_type}"
            )
        if num_threads is not None and not isinstance(num_threads, int):
            raise ValueError("type of num_threads should be int")
        if num_threads is not None and num_threads < 1:
            raise ValueError("num_threads should >= 1")
        if model_path and model_content:
            raise ValueError("Can't both provide `model_path` and `model_content`")
        if not model_path and not model_content:
            raise ValueError("`model_path` or `model_content` must be specified.")
        if experimental_delegates:
            warnings.warn("tflgpu does not use delegates: it has its own device", stacklevel=2)
        model = os.fsdecode(model_path) if model_path else bytes(model_content or b"")
        self._model = Opened(
            model, device, cache, experimental_preserve_all_tensors, custom_ops, input_shapes
        )
        self._main = self._model.subgraph(0)
        self._compressed = experimental_compress_quantization_zero_points

    @property
    def experimental_compress_quantization_zero_points(self) -> bool:
        return self._compressed

    # -- details ----------------------------------------------------------------------------

    def get_input_details(self) -> list[dict[str, Any]]:
        """A dictionary about each input, in the model's order."""
        return [self._main.details(index) for index in self._main.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """A dictionary about each output, in the model's order."""
        return [self._main.details(index) for index in self._main.outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict[str, Any]]:
        """A dictionary about each tensor of the file (ValueError if there is no such subgraph).

        LiteRT lists temporary tensors of its kernels after these, once they are allocated.
        """
        if not 0 <= subgraph_index < self.num_subgraphs():
            raise ValueError(
                f"subgraph_index is out of range: {subgraph_index} for the model, which has "
                f"{self.num_subgraphs()} subgraphs."
            )
        subgraph = self._model.subgraph(subgraph_index)
        details = []
        for index in range(len(subgraph)):
            with suppress(ValueError):
                details.append(subgraph.details(index))
        return details

    def _get_tensor_details(self, tensor_index: int, subgraph_index: int) -> dict[str, Any]:
        return self._model.subgraph(subgraph_index).details(tensor_index)

    def _get_ops_details(self) -> list[dict[str, Any]]:
        """A dictionary about each operator of the first subgraph.

        LiteRT lists those that its delegate adds after these, once tensors are allocated.
        """
        return [self._get_op_details(index) for index in range(len(self._model.file.operators))]

    def _get_op_details(self, op_index: int) -> dict[str, Any]:
        file = self._model.file
        return operator_details(file.operators[op_index], op_index, file.subgraph(0))

    def num_subgraphs(self) -> int:
        return len(self._model.file)

    # -- running ----------------------------------------------------------------------------

    def resize_tensor_input(
        self, input_index: int, tensor_size: Sequence[int], strict: bool = False
    ) -> None:
        """Give an input another shape; tensors must then be allocated again.

        RuntimeError if a view is held, or, with `strict`, a size changes that the file leaves open.
        """
        shape = tuple(np.array(tensor_size, np.int32).reshape(-1).tolist())
        self._main.resize(input_index, shape, strict)

    def allocate_tensors(self) -> None:
        """Compile and load the model for its inputs' shapes, unless done (RuntimeError)."""
        self._main.allocate()

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copy a value into a tensor (ValueError unless it has the tensor's type and shape)."""
        self._main.set(tensor_index, value)

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> Array:
        """A copy of the content of an input, an output or a constant (ValueError)."""
        return self._model.subgraph(subgraph_index).get(tensor_index)

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        """A function that returns the memory of an input or output, as an array.

        Such an array must not be kept: `invoke` and others raise RuntimeError while there is one.
        """
        return lambda: self._main.view(tensor_index)

    def invoke(self) -> None:
        """Run the model (RuntimeError if it fails, tensors are not allocated, or a view is held)"""
        self._main.invoke()

    def reset_all_variables(self) -> None:
        """Give the model's variables their initial content."""
        self._main.reset_variables()

    def _ensure_safe(self) -> None:
        self._main.check_unlent()

    # -- signatures -------------------------------------------------------------------------

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """The sorted names of the inputs and outputs of each signature, by the signature's key."""
        return {
            key: {kind: list(names) for kind, names in signature.items()}
            for key, signature in self._get_full_signature_list().items()
        }

    def _get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        """The same, with the index of each tensor."""
        return {
            key: {"inputs": by_name(item.inputs), "outputs": by_name(item.outputs)}
            for key, item in self._model.file.signatures.items()
        }

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """A function that runs a signature; no key is needed if there is only one (ValueError)."""
        signatures = self._model.file.signatures
        if signature_key is None and len(signatures) != 1:
            raise ValueError(
                f"SignatureDef signature_key is None and model has {len(signatures)} Signatures. "
                "None is only allowed when the model has 1 SignatureDef"
            )
        key = next(iter(signatures)) if signature_key is None else signature_key
        if key not in signatures:
            raise ValueError(f'Invalid signature_key provided: "{key}".')
        return SignatureRunner(self._model.subgraph(signatures[key].subgraph), signatures[key])
