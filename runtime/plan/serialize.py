"""A plan as bytes, which `deserialize.py` reads. The same plan gives the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import flatbuffers
import numpy as np

from . import schema
from .deserialize import FORMAT_VERSION, HEADER, IDENTIFIER, MAGIC
from .records import (
    Argument,
    Companion,
    Dispatch,
    HostPart,
    HostTensor,
    Kernel,
    Persistent,
    PlacedTensor,
    Plan,
    TensorInfo,
    Variable,
)


def to_bytes(plan: Plan) -> bytes:
    """The content of plan.tflgpu. The plan is not checked: call `verify` first."""
    builder = flatbuffers.Builder(65536)
    builder.Finish(_plan_object(plan).Pack(builder), file_identifier=IDENTIFIER)
    body = bytes(builder.Output())
    return HEADER.pack(MAGIC, FORMAT_VERSION, hashlib.sha256(body).digest()) + body


def _plan_object(plan: Plan) -> Any:
    return _fill(
        schema.PlanT(),
        compiler=plan.compiler,
        target=plan.target,
        precision=plan.precision,
        profile=plan.profile,
        model=plan.model,
        fingerprint=plan.fingerprint,
        options=plan.options,
        passes=plan.passes,
        inputs=[_info_object(info) for info in plan.inputs],
        outputs=[_info_object(info) for info in plan.outputs],
        arenaSize=plan.arena_size,
        weightsSize=plan.weights_size,
        weightsSha256=_numbers(plan.weights_sha256, np.uint8),
        kernels=[_kernel_object(kernel) for kernel in plan.kernels],
        dispatches=[_dispatch_object(dispatch) for dispatch in plan.dispatches],
        tensors=[_tensor_object(tensor) for tensor in plan.tensors],
        memory=_fill(
            schema.MemoryT(),
            naive=plan.memory.naive,
            planned=plan.memory.planned,
            lowerBound=plan.memory.lower_bound,
        ),
        companions=[_companion_object(companion) for companion in plan.companions],
        variables=[_variable_object(variable) for variable in plan.variables],
        hostTensors=[_host_tensor_object(tensor) for tensor in plan.host_tensors],
        parts=[_part_object(part) for part in plan.parts],
        persistent=[_persistent_object(record) for record in plan.persistent],
    )


def _info_object(info: TensorInfo) -> Any:
    return _fill(
        schema.TensorInfoT(),
        name=info.name,
        shape=_numbers(info.shape, np.uint32),
        dtype=info.dtype,
        scale=info.scale,
        zeroPoint=info.zero_point,
        open=info.open,
    )


def _kernel_object(kernel: Kernel) -> Any:
    return _fill(
        schema.KernelT(),
        name=kernel.name,
        file=kernel.file,
        sha256=_numbers(kernel.sha256, np.uint8),
        group=_extent_object(kernel.group),
        subGroup=kernel.sub_group,
    )


def _companion_object(companion: Companion) -> Any:
    sha256 = _numbers(companion.sha256, np.uint8)
    return _fill(schema.CompanionT(), file=companion.file, sha256=sha256)


def _variable_object(variable: Variable) -> Any:
    return _fill(
        schema.VariableT(),
        name=variable.name,
        size=variable.size,
        content=variable.content or 0,
        filled=variable.content is not None,
    )


def _host_tensor_object(tensor: HostTensor) -> Any:
    return _fill(
        schema.HostTensorT(),
        name=tensor.name,
        shape=_numbers(tensor.shape, np.uint32),
        dtype=tensor.dtype,
        input=tensor.input,
        output=tensor.output,
        place=None if tensor.place is None else _argument_object(tensor.place),
        open=tensor.open,
    )


def _part_object(part: HostPart) -> Any:
    return _fill(
        schema.HostPartT(),
        file=part.file,
        sha256=_numbers(part.sha256, np.uint8),
        before=part.before,
        inputs=_numbers(part.inputs, np.uint32),
        outputs=_numbers(part.outputs, np.uint32),
        label=part.label,
        operators=_numbers(part.operators, np.int32),
    )


def _dispatch_object(dispatch: Dispatch) -> Any:
    return _fill(
        schema.DispatchT(),
        kernel=dispatch.kernel,
        grid=_extent_object(dispatch.grid),
        arguments=[_argument_object(argument) for argument in dispatch.arguments],
        label=dispatch.label,
        operators=_numbers(dispatch.operators, np.int32),
        flops=dispatch.flops,
        why=dispatch.why,
    )


def _persistent_object(record: Persistent) -> Any:
    return _fill(
        schema.PersistentT(),
        kernel=record.kernel,
        first=record.first,
        count=record.count,
        counters=record.counters,
        arguments=[_argument_object(argument) for argument in record.arguments],
    )


def _argument_object(argument: Argument) -> Any:
    return _fill(
        schema.ArgumentT(),
        region=int(argument.region),
        index=argument.index,
        offset=argument.offset,
        size=argument.size,
        writes=argument.writes,
        texel=argument.texel,
    )


def _tensor_object(tensor: PlacedTensor) -> Any:
    return _fill(
        schema.PlacedTensorT(),
        name=tensor.name,
        shape=_numbers(tensor.shape, np.uint32),
        dtype=tensor.dtype,
        lanes=tensor.lanes,
        region=int(tensor.region),
        index=tensor.index,
        offset=tensor.offset,
        size=tensor.size,
        first=tensor.first,
        last=tensor.last,
        half=tensor.half,
    )


def _extent_object(extent: tuple[int, int, int]) -> Any:
    return _fill(schema.ExtentT(), x=extent[0], y=extent[1], z=extent[2])


def _fill(record: Any, /, **fields: Any) -> Any:
    for name, value in fields.items():
        assert hasattr(record, name), f"{type(record).__name__} has no {name}"
        setattr(record, name, value)
    return record


def _numbers(values: Iterable[int], dtype: type[np.integer[Any]]) -> Any:
    return np.array(list(values), dtype)
