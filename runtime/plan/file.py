r"""The file plan.tflgpu: a header with a digest, then the plan as a flatbuffer.

8 bytes   "tflgpu\r\n"
4 bytes   format version, little-endian
32 bytes  SHA-256 of everything that follows
"""

import hashlib
import struct

from ..errors import PlanError
from .codec import decode, encode
from .records import Plan
from .validate import validate

MAGIC = b"tflgpu\r\n"
FORMAT_VERSION = 10
HEADER = struct.Struct("<8sI32s")
IDENTIFIER = b"TGPL"


def to_bytes(plan: Plan) -> bytes:
    """The content of plan.tflgpu for a valid plan (PlanError if a file cannot hold it)."""
    try:
        body = encode(plan, IDENTIFIER)
    except ValueError as error:
        raise PlanError(f"the plan cannot be written: {error}") from error
    return HEADER.pack(MAGIC, FORMAT_VERSION, hashlib.sha256(body).digest()) + body


def from_bytes(data: bytes, source: str = "the plan") -> Plan:
    """The plan in the content of plan.tflgpu.

    PlanError, naming `source`, if it is not a plan, or was written by another version, is damaged,
    or breaks a limit.
    """
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise PlanError(f"{source} is not a plan of tflgpu; compile the model again")
    _, version, digest = HEADER.unpack_from(data)
    if version != FORMAT_VERSION:
        newer = "install a newer version of tflgpu, or " if version > FORMAT_VERSION else ""
        raise PlanError(
            f"{source} has format version {version}, this runtime reads {FORMAT_VERSION}; "
            f"{newer}compile the model again"
        )
    body = data[HEADER.size :]
    if hashlib.sha256(body).digest() != digest:
        raise PlanError(f"{source} is damaged (its checksum is wrong); compile the model again")
    try:
        plan = decode(Plan, body, IDENTIFIER)
    except ValueError as error:
        raise PlanError(f"{source} is malformed ({error}); compile the model again") from error
    validate(plan, source)
    return plan
