"""An open .tflite file: its header, and the tables that all its subgraphs share."""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import tflite
from flatbuffers.number_types import Int32Flags

from ..errors import ModelError, ModelFileError
from ..ir import Signature
from ..tflite_schema import CUSTOM, IDENTIFIER, VERSION, operator_name
from .constants import Bytes
from .flatbuffer import Source
from .other_formats import described

CHUNK = 1 << 20  # Bytes of a file that are read at once.

# The operand that is a table, or the weights, by the operators that may read the same.
_READERS = {"EMBEDDING_LOOKUP": 1, "GATHER": 0, "FULLY_CONNECTED": 1}
_LAYER = "FULLY_CONNECTED"

Model = str | os.PathLike[str] | bytes  # The path of a model file, or its content.


def content_of(model: Model) -> bytes | mmap.mmap:
    """The bytes of a model; those of a file as `mapped` returns them."""
    return model if isinstance(model, bytes) else mapped(os.fspath(model))


def name_of(model: Model) -> str:
    """What messages call a model: its path, if it has one."""
    return "model" if isinstance(model, bytes) else os.fspath(model)


def mapped(path: str) -> mmap.mmap:
    """The bytes of a file, mapped into memory (ModelError if it cannot be read or is empty)."""
    with _opened(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def release(content: mmap.mmap) -> None:
    """Give back the memory of a mapped file; what is used later is read again."""
    if hasattr(content, "madvise"):  # not on Windows
        content.madvise(mmap.MADV_DONTNEED)


def fingerprint(model: Model) -> str:
    """The SHA-256 of a model, as hex (ModelError if its file cannot be read or is empty)."""
    digest = hashlib.sha256()
    if isinstance(model, bytes):
        digest.update(model)
        return digest.hexdigest()
    with _opened(os.fspath(model)) as file:
        while content := file.read(CHUNK):
            digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Identity:
    """What a plan says of the model file that it is for."""

    name: str  # The file's name as valid Unicode, which a file name need not be.
    fingerprint: str

    @classmethod
    def of(cls, model: Model) -> Identity:
        """ModelError if the file cannot be read or is empty."""
        name = os.fsencode(os.path.basename(name_of(model))).decode("utf-8", "replace")
        return cls(name, fingerprint(model))

    @classmethod
    def of_graph(cls, name: str) -> Identity:
        """That of a graph which no file has, by its name."""
        return cls(name, hashlib.sha256(name.encode()).hexdigest())


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """A file that is neither empty nor a device or pipe, open for reading (ModelError)."""
    try:
        status = os.stat(path)  # before it is opened: to open a pipe waits for its writer
        if stat.S_ISDIR(status.st_mode):
            raise ValueError("it is a folder; give the .tflite file")
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file; save the model to one first")
        if not status.st_size:
            raise ValueError("the file is empty")
        with open(path, "rb") as file:
            yield file
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(f"cannot read the model {path}: {reason}") from error


class ModelFile:
    """The operator codes, buffers and signatures, which all subgraphs of a model share."""

    def __init__(self, source: Source) -> None:
        self.source = source
        if bytes(source.data[4:8]) != IDENTIFIER:
            raise ModelError(
                "not a .tflite model: "
                + (described(source.data) or f"bytes 4 to 8 are not {IDENTIFIER.decode()}")
            )
        self.root = tflite.Model.GetRootAs(source.data, 0)
        if self.root.Version() != VERSION:
            raise ModelError(
                f"it has schema version {self.root.Version()}, but only {VERSION} is supported"
            )
        self.buffers = source.length(self.root, "Buffers")
        self.subgraphs = source.children(self.root, "Subgraphs")
        if not self.subgraphs:
            raise ModelError("the model has no subgraph")
        self.codes = [self._code(code) for code in source.children(self.root, "OperatorCodes")]
        self.operands = 0  # Number of operands of all operators read so far.
        self._names: dict[int, list[str]] = {}

    def _code(self, code: Any) -> tuple[str, int, bool]:
        """An operator's name and version, and whether it is custom."""
        # Older files have only the deprecated field, which ends at 127, and some newer files have
        # only the new one. The package's BuiltinCode() ignores the new field in the latter case, so
        # read it directly and take the larger of the two.
        table = code._tab
        slot = table.Offset(10)
        number = table.Get(Int32Flags, table.Pos + slot) if slot else 0
        number = max(number, code.DeprecatedBuiltinCode())
        name = operator_name(number, self.source.text(code, "CustomCode"))
        return name, code.Version(), number == CUSTOM

    def buffer(self, index: int) -> Bytes:
        """The bytes of a buffer, in the flatbuffer or after it (ModelError)."""
        if not (index or self.buffers):
            return np.empty(0, np.uint8)  # Buffer 0 is always empty, and may be left out.
        if index >= self.buffers:
            raise ModelError(f"it refers to buffer {index}, but the model has {self.buffers}")
        buffer = self.root.Buffers(index)
        # Writers use 1 as a placeholder for an offset that is filled in later.
        if buffer.Offset() > 1:
            return self.source.span(buffer.Offset(), buffer.Size())
        return self.source.view(buffer, "Data")

    @cached_property
    def tied(self) -> set[int]:
        """The buffers whose rows lookups read and that layers have as weights, in any subgraphs."""
        found: dict[str, set[int]] = {name: set() for name in _READERS}
        for index, subgraph in enumerate(self.subgraphs):
            with self.source.at(f"subgraph {index}"):
                tensors = dict(enumerate(self.source.children(subgraph, "Tensors")))
                for op in self.source.children(subgraph, "Operators"):
                    code = op.OpcodeIndex()
                    name = self.codes[code][0] if code < len(self.codes) else ""
                    if name in found:
                        place = _READERS[name]
                        operands = self.source.numbers(op, "Inputs")[place : place + 1]
                        found[name].update(tensors[t].Buffer() for t in operands if t in tensors)
        layers = found.pop(_LAYER)
        return {buffer for buffers in found.values() for buffer in buffers & layers}

    def tensor_names(self, subgraph: int) -> list[str]:
        """The names of a subgraph's tensors, made unique with numbers and given to unnamed ones."""
        if subgraph not in self._names:
            tables = self.source.children(self.subgraphs[subgraph], "Tensors")
            self._names[subgraph] = distinct([self.source.text(each, "Name") for each in tables])
        return self._names[subgraph]

    def signatures(self) -> list[Signature]:
        """Every signature of the model (ModelError if one names a tensor that does not exist)."""
        return [
            self._signature(table) for table in self.source.children(self.root, "SignatureDefs")
        ]

    def _signature(self, table: Any) -> Signature:
        key = self.source.text(table, "SignatureKey")
        with self.source.at(f"signature {key}"):
            subgraph = table.SubgraphIndex()
            if subgraph >= len(self.subgraphs):
                raise ModelError(
                    f"it refers to subgraph {subgraph}, but the model has {len(self.subgraphs)}"
                )
            names = self.tensor_names(subgraph)
            inputs, outputs = (
                {
                    self.source.text(entry, "Name"): names[entry.TensorIndex()]
                    for entry in self.source.children(table, field)
                }
                for field in ("Inputs", "Outputs")
            )
        return Signature(key, inputs, outputs, subgraph)


def distinct(given: Sequence[str]) -> list[str]:
    """Names of tensors made unique with numbers; empty ones become tensor_<position>."""
    taken, names = set(given), []
    seen: dict[str, int] = {}
    for index, name in enumerate(given):
        unique = name or f"tensor_{index}"
        while (not name or name in seen) and unique in taken:
            seen[name] = seen.get(name, 0) + 1
            unique = f"{name or f'tensor_{index}'}_{seen[name]}"
        seen.setdefault(name, 0)
        taken.add(unique)
        names.append(unique)
    return names
