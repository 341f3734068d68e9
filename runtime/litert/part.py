"""Parts of a model that run on LiteRT: small models of their own in the plan's folder.

Only this folder imports ai_edge_litert, and only for a plan that has such parts.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import DeviceError, PlanError
from ..launch.memory import Array
from ..plan.records import HostPart, HostTensor, Plan
from ..quiet import without_notices
from .dataflow import check_dataflow
from .module import array_of, interpreter_module


def litert_of(plan: Plan) -> ModuleType:
    """LiteRT, for the parts of a plan (DeviceError if it is not installed)."""
    try:
        return interpreter_module()
    except ImportError as error:
        labels = ", ".join(part.label for part in plan.parts if not part.function)
        raise DeviceError(
            f"{plan.model} needs LiteRT for {labels}, but it cannot be imported ({error}); "
            "install it with: pip install 'tflgpu[litert]'"
        ) from error


class LoadedPart:
    """A part with its interpreter, which keeps the part's variables from run to run."""

    def __init__(self, plan: Plan, record: HostPart, content: bytes, litert: ModuleType) -> None:
        """PlanError if LiteRT rejects the part."""
        self.record = record
        self._inputs = [plan.host_tensors[index] for index in record.inputs]
        self._outputs = [plan.host_tensors[index] for index in record.outputs]
        self._content = content
        self._litert = litert
        self.reset()

    def reset(self) -> None:
        # A new interpreter, because resource variables cannot be reset in an existing one.
        try:
            with without_notices():
                self._interpreter = self._litert.Interpreter(model_content=self._content)
                check_dataflow(self._content)
                self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise PlanError(
                f"LiteRT rejects {self.record.file} ({self.record.label}): {error}; "
                "compile the model again with the installed version of LiteRT"
            ) from error
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        shapes = [tuple(item["shape"]) for item in inputs]
        if (
            shapes != [tensor.shape for tensor in self._inputs]
            or not _same_dtypes(inputs, self._inputs)
            or not _same_dtypes(outputs, self._outputs)
        ):
            raise PlanError(
                f"{self.record.file} has other inputs or outputs than the plan states; "
                "compile the model again"
            )
        self._input_indices = [item["index"] for item in inputs]
        self._output_items = outputs

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs. DeviceError if an operator fails, PlanError if one has another shape."""
        try:
            for index, array in zip(self._input_indices, arrays, strict=True):
                self._interpreter.set_tensor(index, array)
            self._interpreter.invoke()
            if any(tensor.dynamic for tensor in self._outputs):
                self._output_items = self._interpreter.get_output_details()
            results = [array_of(self._interpreter, item) for item in self._output_items]
        except (ValueError, RuntimeError) as error:
            raise DeviceError(
                f"{self.record.label} failed on LiteRT: {str(error).strip()}"
            ) from error
        for tensor, result in zip(self._outputs, results, strict=True):
            if not tensor.dynamic and result.shape != tensor.shape:
                raise PlanError(
                    f"{self.record.file} computes {tensor.name} with shape {list(result.shape)}, "
                    f"but the plan states {list(tensor.shape)}; compile the model again"
                )
        return results


def _same_dtypes(items: Sequence[Any], tensors: Sequence[HostTensor]) -> bool:
    return len(items) == len(tensors) and all(
        _same_dtype(item["dtype"], tensor.dtype)
        for item, tensor in zip(items, tensors, strict=True)
    )


def _same_dtype(dtype: Any, name: str) -> bool:
    return np.dtype(dtype).kind in "SO" if name == "string" else np.dtype(dtype).name == name
