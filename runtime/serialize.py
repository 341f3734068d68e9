"""A plan as bytes and back: plan.tflgpu is a header with a digest, then a flatbuffer (plan.fbs).

The digest is checked before anything is parsed, because Python's flatbuffers has no verifier; the
parsed plan is then checked against the limits in `verify.py`. The same plan gives the same bytes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import flatbuffers
import numpy as np

from . import schema
from .errors import PlanError
from .plan import (
    Argument,
    Companion,
    Dispatch,
    HostPart,
    HostTensor,
    Kernel,
    Memory,
    Persistent,
    PlacedTensor,
    Plan,
    Region,
    TensorInfo,
    Variable,
)
from .verify import LARGEST_COUNT, verify

MAGIC = b"tflgpu\r\n"
FORMAT_VERSION = 2
HEADER = struct.Struct("<8sI32s")
IDENTIFIER = b"TGPL"

_Record = TypeVar("_Record")
# What reading a flatbuffer whose offsets point anywhere can raise.
_PARSE_ERRORS = (
    AttributeError,
    IndexError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
)


# -- writing ----------------------------------------------------------------------------------


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
        setattr(record, name, value)
    return record


def _numbers(values: Iterable[int], dtype: type[np.integer[Any]]) -> Any:
    return np.array(list(values), dtype)


# -- reading ----------------------------------------------------------------------------------


def from_bytes(data: bytes, source: str = "the plan") -> Plan:
    """The plan in the content of plan.tflgpu.

    PlanError, naming `source`, if it is no plan, of another version, damaged or out of bounds.
    """
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise PlanError(f"{source} is not a plan of tflgpu; compile the model again")
    _, version, digest = HEADER.unpack_from(data)
    if version != FORMAT_VERSION:
        raise PlanError(
            f"{source} has format version {version}, this runtime reads {FORMAT_VERSION}; "
            f"compile the model again"
        )
    body = data[HEADER.size :]
    if hashlib.sha256(body).digest() != digest:
        raise PlanError(f"{source} is damaged (its checksum is wrong); compile the model again")
    try:
        if not schema.Plan.PlanBufferHasIdentifier(body, 0):
            raise ValueError("the file identifier is missing")
        plan = _plan(schema.Plan.GetRootAs(body, 0))
    except _PARSE_ERRORS as error:
        raise PlanError(f"{source} is malformed ({error}); compile the model again") from error
    verify(plan, source)
    return plan


def _plan(table: schema.Plan) -> Plan:
    memory = table.Memory()
    return Plan(
        compiler=_text(table.Compiler()),
        target=_text(table.Target()),
        precision=_text(table.Precision()),
        profile=_text(table.Profile()),
        model=_text(table.Model()),
        fingerprint=_text(table.Fingerprint()),
        options=_text(table.Options()),
        passes=_text(table.Passes()),
        inputs=_records(table.InputsLength(), table.Inputs, _info),
        outputs=_records(table.OutputsLength(), table.Outputs, _info),
        arena_size=table.ArenaSize(),
        weights_size=table.WeightsSize(),
        weights_sha256=table.WeightsSha256AsNumpy().tobytes(),
        kernels=_records(table.KernelsLength(), table.Kernels, _kernel),
        dispatches=_records(table.DispatchesLength(), table.Dispatches, _dispatch),
        tensors=_records(table.TensorsLength(), table.Tensors, _tensor),
        memory=Memory(memory.Naive(), memory.Planned(), memory.LowerBound()),
        companions=_records(table.CompanionsLength(), table.Companions, _companion),
        variables=_records(table.VariablesLength(), table.Variables, _variable),
        host_tensors=_records(table.HostTensorsLength(), table.HostTensors, _host_tensor),
        parts=_records(table.PartsLength(), table.Parts, _part),
        persistent=_records(table.PersistentLength(), table.Persistent, _persistent),
    )


def _info(table: schema.TensorInfo) -> TensorInfo:
    return TensorInfo(
        name=_text(table.Name()),
        shape=tuple(table.ShapeAsNumpy().tolist()),
        dtype=_text(table.Dtype()),
        scale=table.Scale(),
        zero_point=table.ZeroPoint(),
        open=bool(table.Open()),
    )


def _kernel(table: schema.Kernel) -> Kernel:
    return Kernel(
        name=_text(table.Name()),
        file=_text(table.File()),
        sha256=table.Sha256AsNumpy().tobytes(),
        group=_extent(table.Group()),
    )


def _companion(table: schema.Companion) -> Companion:
    return Companion(_text(table.File()), table.Sha256AsNumpy().tobytes())


def _variable(table: schema.Variable) -> Variable:
    content = table.Content() if table.Filled() else None
    return Variable(_text(table.Name()), table.Size(), content)


def _host_tensor(table: schema.HostTensor) -> HostTensor:
    place = table.Place()
    return HostTensor(
        name=_text(table.Name()),
        shape=tuple(table.ShapeAsNumpy().tolist()),
        dtype=_text(table.Dtype()),
        input=table.Input(),
        output=table.Output(),
        place=None if place is None else _argument(place),
        open=bool(table.Open()),
    )


def _part(table: schema.HostPart) -> HostPart:
    return HostPart(
        file=_text(table.File()),
        sha256=table.Sha256AsNumpy().tobytes(),
        before=table.Before(),
        inputs=tuple(table.InputsAsNumpy().tolist()),
        outputs=tuple(table.OutputsAsNumpy().tolist()),
        label=_text(table.Label()),
        operators=tuple(table.OperatorsAsNumpy().tolist()),
    )


def _dispatch(table: schema.Dispatch) -> Dispatch:
    return Dispatch(
        kernel=table.Kernel(),
        grid=_extent(table.Grid()),
        arguments=_records(table.ArgumentsLength(), table.Arguments, _argument),
        label=_text(table.Label()),
        operators=tuple(table.OperatorsAsNumpy().tolist()),
        flops=table.Flops(),
        why=(table.Why() or b"").decode("utf-8"),
    )


def _persistent(table: schema.Persistent) -> Persistent:
    return Persistent(
        kernel=table.Kernel(),
        first=table.First(),
        count=table.Count(),
        counters=table.Counters(),
        arguments=_records(table.ArgumentsLength(), table.Arguments, _argument),
    )


def _argument(struct_: schema.Argument) -> Argument:
    return Argument(
        region=Region(struct_.Region()),
        index=struct_.Index(),
        offset=struct_.Offset(),
        size=struct_.Size(),
        writes=struct_.Writes(),
    )


def _tensor(table: schema.PlacedTensor) -> PlacedTensor:
    return PlacedTensor(
        name=_text(table.Name()),
        shape=tuple(table.ShapeAsNumpy().tolist()),
        dtype=_text(table.Dtype()),
        lanes=table.Lanes(),
        region=Region(table.Region()),
        index=table.Index(),
        offset=table.Offset(),
        size=table.Size(),
        first=table.First(),
        last=table.Last(),
        half=bool(table.Half()),
    )


def _extent(struct_: schema.Extent) -> tuple[int, int, int]:
    return (struct_.X(), struct_.Y(), struct_.Z())


def _text(value: bytes | None) -> str:
    if value is None:
        raise ValueError("a text is missing")
    return value.decode("utf-8")


def _records(
    count: int, element: Callable[[int], Any], read: Callable[[Any], _Record]
) -> tuple[_Record, ...]:
    """All elements of a vector, whose count is checked first: it may be any number."""
    if count > LARGEST_COUNT:
        raise ValueError(f"a list of {count} elements")
    return tuple(read(element(position)) for position in range(count))
