"""A plan from bytes: plan.tflgpu is a header with a digest, then a flatbuffer (plan.fbs).

The digest is checked before anything is parsed, because Python's flatbuffers has no verifier; the
parsed plan is then checked against the limits in `verify.py`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import PlanError
from . import schema
from .check import LARGEST_COUNT, verify
from .records import (
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

MAGIC = b"tflgpu\r\n"
FORMAT_VERSION = 3
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
        sub_group=table.SubGroup(),
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
        texel=struct_.Texel(),
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
