"""What a device's compiler made of a plan's kernels, kept beside the plan.

    <variant>/binaries/<device key>.bin

The file is a header, then the text of the key, then the driver's binary. A binary is used only if
its key says the same as now about the device, its driver, the processor, the build and the sources,
and its digest is right; anything else is as good as no file and is replaced by the next load that
has compiled the kernels.
"""

from __future__ import annotations

import hashlib
import struct
from contextlib import suppress
from pathlib import Path

from ..errors import PlanError
from ..launch.device import Device, DeviceInfo
from ..plan.records import Plan
from .cache import lock
from .private_files import check_private, make_private, read_file, replace_file

BINARIES = "binaries"
MAGIC = b"tflgpub\n"
FORMAT_VERSION = 1
HEADER = struct.Struct("<8sI32sI")
"""Magic, version, digest of everything after the header, bytes of the key's text."""
LARGEST_BINARY = 1 << 30
LOCK_SECONDS = 10
"""How long to wait for another process that is writing into the same variant."""


def device_key(info: DeviceInfo) -> str:
    """The name of files that hold for one device with one driver: 32 hexadecimal digits."""
    identity = "\0".join((info.platform, info.version, info.name, info.driver, info.type))
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def binary_key(device: Device, plan: Plan) -> str:
    """Everything a binary depends on, a line for each."""
    info = device.info
    sources = hashlib.sha256()
    for kernel in plan.kernels:
        sources.update(f"{kernel.file}\0{kernel.name}\0".encode() + kernel.sha256)
    parts = {
        "platform": info.platform,
        "version": info.version,
        "device": info.name,
        "driver": info.driver,
        "processor": _processor() if info.type == "cpu" else "",
        "options": device.build_options,
        "sources": sources.hexdigest(),
    }
    return "".join(f"{name}: {value!r}\n" for name, value in parts.items())


def _processor() -> str:
    """What the processor can do.

    Drivers for processors compile for the one they run on, whose instructions its name, often that
    of a whole family, does not tell; a folder may have been copied from another machine.
    """
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features")):
                return hashlib.sha256(line.encode()).hexdigest()
            if line == "\n":
                break
    # Only here, as it is slow: systems without that file.
    import platform

    return f"{platform.machine()} {platform.processor()}"


def read_binary(folder: Path, device: Device, plan: Plan) -> bytes | None:
    """The binary kept for this device and these kernels; None if there is none to rely on."""
    content = read_for_device(folder, device.info)
    return None if content is None else unpack(content, binary_key(device, plan))


def read_for_device(folder: Path, info: DeviceInfo) -> bytes | None:
    """The content of the file for a device, unchecked; None if no file can be relied on."""
    try:
        check_private(folder / BINARIES)
        return read_file(_path(folder, info), LARGEST_BINARY)
    except PlanError:
        return None


def unpack(content: bytes, key: str) -> bytes | None:
    """The binary in a file's content if it is whole and its key is this one."""
    parts = split(content)
    return parts[1] if parts is not None and parts[0] == key.encode() else None


def split(content: bytes) -> tuple[bytes, bytes] | None:
    """The text of the key and the binary in a file's content; None if it is damaged."""
    if len(content) < HEADER.size:
        return None
    magic, version, digest, key_size = HEADER.unpack_from(content)
    body = memoryview(content)[HEADER.size :]
    if magic != MAGIC or version != FORMAT_VERSION or key_size > len(body):
        return None
    if hashlib.sha256(body).digest() != digest:
        return None
    return bytes(body[:key_size]), bytes(body[key_size:])


def write_binary(folder: Path, device: Device, plan: Plan, binary: bytes) -> None:
    """Keep a binary in a variant's folder; the file appears whole or not at all.

    PlanError if the folder cannot be written or is not private.
    """
    # Imported here, as they are slow and only needed after compiling.
    from filelock import Timeout

    key = binary_key(device, plan).encode()
    body = key + binary
    header = HEADER.pack(MAGIC, FORMAT_VERSION, hashlib.sha256(body).digest(), len(key))
    path = _path(folder, device.info)
    # Before the lock, which would make the folder's parent anew.
    check_private(folder)
    try:
        # The lock keeps a process that compiles the model from replacing the folder meanwhile.
        with lock(folder).acquire(timeout=LOCK_SECONDS):
            check_private(folder)
            make_private(path.parent)
            # What processes have left that were killed here.
            for leftover in path.parent.glob(f".{path.stem}.*.tmp"):
                leftover.unlink()
            replace_file(path, header + body)
    except Timeout as error:
        raise PlanError(f"cannot write {path}: another process holds its lock") from error
    except OSError as error:
        raise PlanError(f"cannot write {path}: {error.strerror or error}") from error


def _path(folder: Path, info: DeviceInfo) -> Path:
    return folder / BINARIES / f"{device_key(info)}.bin"
