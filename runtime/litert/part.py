"""Parts of a model that run on LiteRT: small models of their own, in the plan's folder.

Only this file and `part_flow.py` import ai_edge_litert, and only for a plan that has such parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DeviceError, PlanError
from ..plan.records import HostPart, HostTensor, Plan
from ..store.variant import Variant
from .part_flow import check_flow

Array = NDArray[Any]


def open_parts(variant: Variant) -> list[Part]:
    """The parts of a plan, in the order in which they run.

    DeviceError if there are any and LiteRT is not installed, PlanError if it refuses one.
    """
    plan = variant.plan
    if not plan.parts:
        return []
    litert = _litert(plan)
    return [Part(plan, record, variant.parts[record.file], litert) for record in plan.parts]


def _litert(plan: Plan) -> ModuleType:
    try:
        from ai_edge_litert import interpreter
    except ImportError as error:
        labels = ", ".join(part.label for part in plan.parts)
        raise DeviceError(
            f"{labels} of {plan.model} run on LiteRT, which cannot be imported ({error}): "
            "pip install 'tflgpu[litert]'"
        ) from error
    module: ModuleType = interpreter
    return module


class Part:
    """One part, loaded. What its variables hold stays in it from run to run."""

    def __init__(self, plan: Plan, record: HostPart, content: bytes, litert: ModuleType) -> None:
        self.record = record
        self._inputs = [plan.host_tensors[index] for index in record.inputs]
        self._outputs = [plan.host_tensors[index] for index in record.outputs]
        self._content = content
        self._litert = litert
        self.reset()

    def reset(self) -> None:
        """Let its variables be as before the first run; resources need a new interpreter for it."""
        try:
            self._interpreter = self._litert.Interpreter(model_content=self._content)
            check_flow(self._content)
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise PlanError(
                f"LiteRT cannot take {self.record.file} ({self.record.label}): {error}; "
                "compile the model again with the LiteRT that is installed"
            ) from error
        taken = self._interpreter.get_input_details()
        given = self._interpreter.get_output_details()
        shapes = [tuple(item["shape"]) for item in taken]
        if (
            shapes != [tensor.shape for tensor in self._inputs]
            or not _same_types(taken, self._inputs)
            or not _same_types(given, self._outputs)
        ):
            raise PlanError(
                f"{self.record.file} does not have the inputs and outputs that the plan says; "
                "compile the model again"
            )
        self._taken = [item["index"] for item in taken]
        self._given = [item["index"] for item in given]

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """Its outputs for those inputs (DeviceError if an operator fails).

        PlanError for an output that is not what the plan says of it.
        """
        try:
            for index, array in zip(self._taken, arrays, strict=True):
                self._interpreter.set_tensor(index, array)
            self._interpreter.invoke()
            results = [self._interpreter.get_tensor(index) for index in self._given]
        except (ValueError, RuntimeError) as error:
            raise DeviceError(
                f"{self.record.label} failed on LiteRT: {str(error).strip()}"
            ) from error
        for tensor, result in zip(self._outputs, results, strict=True):
            if not tensor.open and result.shape != tensor.shape:
                raise PlanError(
                    f"{self.record.file} gives {tensor.name} the shape {list(result.shape)}, the "
                    f"plan says {list(tensor.shape)}; compile the model again"
                )
        return results


def _same_types(items: Sequence[Any], tensors: Sequence[HostTensor]) -> bool:
    return len(items) == len(tensors) and all(
        _same_type(item["dtype"], tensor.dtype) for item, tensor in zip(items, tensors, strict=True)
    )


def _same_type(dtype: Any, name: str) -> bool:
    return np.dtype(dtype).kind in "SO" if name == "string" else np.dtype(dtype).name == name
