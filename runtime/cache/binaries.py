"""What a driver compiled a plan's kernels to, stored beside the plan.

    <variant>/binaries/<device key>.bin

The file holds a header, then a key as text, then the binary. A binary is used only if its key
equals the present one, which states the device, its driver, the processor, the build options and
the sources, and if its digest is right. Any other file counts as missing, and is replaced once the
kernels have been compiled.
"""

import hashlib
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import PlanError
from ..launch.device import Device, DeviceInfo, Program
from ..plan.records import Plan
from ..processor import instruction_set
from .folder import lock
from .private_files import check_private, last_change, make_private, read_file, replace_file
from .variant import check_unchanged_since

BINARIES = "binaries"
MAGIC = b"tflgpub\n"
FORMAT_VERSION = 2
# Magic, version, digest of everything after the header, size of the key.
HEADER = struct.Struct("<8sI32sI")
LARGEST_BINARY = 1 << 30  # Bytes.
LOCK_SECONDS = 10  # How long to wait for another process that is changing the variant.
_COUNTS = struct.Struct("<II")  # Of programs and kernels.


def device_key(info: DeviceInfo) -> str:
    """32 hexadecimal digits that identify a device with its driver; the name of its files."""
    identity = "\0".join((info.platform, info.version, info.name, info.driver, info.type))
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def binary_key(device: Device, plan: Plan) -> str:
    """Everything that a binary depends on, one item per line."""
    info = device.info
    sources = hashlib.sha256()
    for kernel in plan.kernels:
        sources.update(f"{kernel.file}\0{kernel.name}\0".encode() + kernel.sha256)
    items = {
        "platform": info.platform,
        "version": info.version,
        "device": info.name,
        "driver": info.driver,
        "processor": instruction_set() if info.type == "cpu" else "",
        "options": plan.schedule(device.resident_groups).options,
        "sources": sources.hexdigest(),
    }
    return "".join(f"{name}: {value!r}\n" for name, value in items.items())


def read_binary(folder: Path, device: Device, plan: Plan) -> bytes | None:
    """The binary stored for these, None if none is reliable (PlanError if a kernel has changed)."""
    try:
        check_private(folder / BINARIES)
        content = read_file(_path(folder, device.info), LARGEST_BINARY)
    except PlanError:
        return None
    binary = unpack(content, binary_key(device, plan))
    if binary is not None:
        with suppress(FileNotFoundError):  # another process has just replaced the variant
            check_unchanged_since(folder, plan, stored_at(folder, device.info))
    return binary


def restored_programs(folder: Path, device: Device, plan: Plan) -> Sequence[Program] | None:
    """The programs of the kernels that the device runs; None if they must be compiled (PlanError).

    A driver may notice only when they are used that it cannot use them.
    """
    binary = read_binary(folder, device, plan)
    if binary is None:
        return None
    schedule = plan.schedule(device.resident_groups)
    kernels = [plan.kernels[index] for index in schedule.kernels]
    return device.restore(kernels, schedule.options, binary)


def stored_at(folder: Path, info: DeviceInfo) -> int:
    """When a device's file was stored, in nanoseconds; 0 if there is none."""
    with suppress(OSError):
        return last_change(_path(folder, info))
    return 0


def unpack(content: bytes, key: str) -> bytes | None:
    """The binary in a file's content, if it is undamaged and has this key."""
    items = split(content)
    return items[1] if items is not None and items[0] == key.encode() else None


def digest_of(key_size: int, body: bytes | memoryview) -> bytes:
    """The SHA-256 of what follows the header, and of where the key in it ends."""
    digest = hashlib.sha256(key_size.to_bytes(4, "little"))
    digest.update(body)
    return digest.digest()


def split(content: bytes) -> tuple[bytes, bytes] | None:
    """The key and the binary in a file's content; None if it is damaged."""
    if len(content) < HEADER.size:
        return None
    magic, version, digest, key_size = HEADER.unpack_from(content)
    body = memoryview(content)[HEADER.size :]
    if magic != MAGIC or version != FORMAT_VERSION or key_size > len(body):
        return None
    if digest_of(key_size, body) != digest:
        return None
    return bytes(body[:key_size]), bytes(body[key_size:])


def write_binary(
    folder: Path, device: Device, plan: Plan, binary: bytes, whole: Path | None = None
) -> None:
    """Store a binary in a variant's folder. The file appears whole or not at all.

    `whole` is `Variant.whole` unless that is the folder itself. PlanError if the folder cannot be
    written or is not private.
    """
    # Imported here because it is slow, and only needed after compiling.
    from filelock import Timeout

    key = binary_key(device, plan).encode()
    body = key + binary
    header = HEADER.pack(MAGIC, FORMAT_VERSION, digest_of(len(key), body), len(key))
    path = _path(folder, device.info)
    # Before taking the lock, which would create the folder's parent if that has been removed.
    check_private(folder)
    try:
        # The lock keeps a process that compiles the model from replacing the folder meanwhile.
        with lock(whole or folder).acquire(timeout=LOCK_SECONDS):
            check_private(folder)
            make_private(path.parent)
            # Left behind by processes that were killed here.
            for leftover in path.parent.glob(f".{path.stem}.*.tmp"):
                leftover.unlink()
            replace_file(path, header + body)
    except Timeout as error:
        raise PlanError(f"cannot write {path}: another process holds its lock") from error
    except OSError as error:
        raise PlanError(f"cannot write {path}: {error.strerror or error}") from error


def _path(folder: Path, info: DeviceInfo) -> Path:
    return folder / BINARIES / f"{device_key(info)}.bin"


def join_programs(contents: Sequence[bytes], places: Sequence[int]) -> bytes:
    """One binary of several programs; `places` is the index of the program of each kernel."""
    counts = _COUNTS.pack(len(contents), len(places))
    table = struct.pack(f"<{len(places)}I", *places)
    sizes = struct.pack(f"<{len(contents)}Q", *map(len, contents))
    return b"".join((counts, table, sizes, *contents))


def split_programs(binary: bytes) -> tuple[list[bytes], tuple[int, ...]] | None:
    """The arguments that `join_programs` made a binary from; None if it did not make it.

    >>> split_programs(join_programs([b"first", b"second"], [0, 1, 0]))
    ([b'first', b'second'], (0, 1, 0))
    """
    try:
        programs, kernels = _COUNTS.unpack_from(binary)
        start = _COUNTS.size
        if 4 * kernels + 8 * programs > len(binary) - start:
            return None
        places = struct.unpack_from(f"<{kernels}I", binary, start)
        start += 4 * kernels
        sizes = struct.unpack_from(f"<{programs}Q", binary, start)
        start += 8 * programs
    except struct.error:
        return None
    if start + sum(sizes) != len(binary) or max(places, default=-1) >= programs:
        return None
    contents = []
    for size in sizes:
        contents.append(binary[start : start + size])
        start += size
    return contents, places
