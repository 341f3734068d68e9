"""What a model file says about its inputs and outputs: its TFLite metadata.

The metadata is a flatbuffer of its own in a buffer of the model; files that it names, such as
labels, lie in a zip archive behind the model. The numbers below are the positions of the fields in
the tables of metadata_schema.fbs of the project tensorflow/tflite-support, version 1.1.0.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from dataclasses import asdict, dataclass
from io import BytesIO

from flatbuffers import encode, number_types
from flatbuffers.table import Table

from ...runtime.errors import PlanError
from ...runtime.typed_json import typed
from ..errors import ModelError
from .flatbuffer import Source
from .model_file import Model, ModelFile, content_of, name_of

NAME = "TFLITE_METADATA"
"""The name of the model's buffer."""
IDENTIFIER = b"M001"

SUBGRAPHS = 3
"""ModelMetadata.subgraph_metadata; the first entry describes the first subgraph."""
INPUTS, OUTPUTS = 2, 3
"""SubGraphMetadata.input_tensor_metadata, and that of the outputs."""
TENSOR_NAME, PROCESS_UNITS, TENSOR_FILES = 0, 4, 6
"""TensorMetadata.name, process_units and associated_files."""
UNIT_TYPE, UNIT = 0, 1
"""ProcessUnit.options, a union."""
NORMALIZATION = 1
"""The type of that union for NormalizationOptions."""
MEAN, STD = 0, 1
"""NormalizationOptions.mean and std."""
FILE_NAME, FILE_TYPE = 0, 2
"""AssociatedFile.name and type."""
LABELS = (2, 3)
"""TENSOR_AXIS_LABELS and TENSOR_VALUE_LABELS of AssociatedFileType."""

LARGEST_LABELS = 1 << 24
"""Most bytes of a file of labels."""


@dataclass(frozen=True)
class TensorMetadata:
    """What the metadata says about an input or output."""

    name: str
    """For people; unlike the tensor's name in the model."""
    mean: tuple[float, ...] = ()
    """Subtracted from pixels (0..255), for each channel or for all; () if it says nothing."""
    std: tuple[float, ...] = ()
    """What pixels are then divided by."""
    labels: tuple[str, ...] = ()
    """The names of classes, by number: along the last axis, or of the tensor's values."""


@dataclass(frozen=True)
class Metadata:
    """The metadata of a model's first subgraph, in the order of its inputs and outputs."""

    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()

    def as_json(self) -> str:
        """The text that `parse_metadata` takes; empty if there is nothing."""
        return json.dumps(asdict(self)) if self != Metadata() else ""


def parse_metadata(text: str) -> Metadata:
    """The metadata in a plan (PlanError if it is malformed)."""
    try:
        return typed(Metadata, json.loads(text or "{}"))
    except (ValueError, RecursionError) as error:
        raise PlanError("the plan's metadata is malformed; compile the model again") from error


def read_metadata(model: Model) -> Metadata:
    """The metadata of a model; empty if it has none (ModelError if it is damaged)."""
    source = Source(memoryview(content_of(model)))
    with source.at(name_of(model)):
        file = ModelFile(source)
        for entry in source.children(file.root, "Metadata"):
            if source.text(entry, "Name") == NAME:
                data = file.buffer(entry.Buffer()).tobytes()
                with source.at("the metadata"):
                    return _Reader(data, model).metadata()
    return Metadata()


class _Reader:
    """Reads the flatbuffer `data`; the archive is behind the model."""

    def __init__(self, data: bytes, model: Model) -> None:
        if data[4:8] != IDENTIFIER:
            raise ModelError(f"it does not start with {IDENTIFIER.decode()}")
        self._data = data
        self._model = model
        self._left = len(data)

    def metadata(self) -> Metadata:
        root = Table(self._data, encode.Get(number_types.UOffsetTFlags.packer_type, self._data, 0))
        for subgraph in self._tables(root, SUBGRAPHS):
            return Metadata(
                tuple(map(self._tensor, self._tables(subgraph, INPUTS))),
                tuple(map(self._tensor, self._tables(subgraph, OUTPUTS))),
            )
        return Metadata()

    def _tensor(self, table: Table) -> TensorMetadata:
        mean: tuple[float, ...] = ()
        std: tuple[float, ...] = ()
        for unit in self._tables(table, PROCESS_UNITS):
            if self._byte(unit, UNIT_TYPE) == NORMALIZATION:
                options = self._table(unit, UNIT)
                mean, std = self._floats(options, MEAN), self._floats(options, STD)
        files = [
            self._text(file, FILE_NAME)
            for file in self._tables(table, TENSOR_FILES)
            if self._byte(file, FILE_TYPE) in LABELS
        ]
        labels = self._labels(files[0]) if files else ()
        return TensorMetadata(self._text(table, TENSOR_NAME), mean, std, labels)

    def _labels(self, name: str) -> tuple[str, ...]:
        """The lines of a file in the archive."""
        behind = BytesIO(self._model) if isinstance(self._model, bytes) else self._model
        try:
            with zipfile.ZipFile(behind) as archive, archive.open(name) as file:
                content = file.read(LARGEST_LABELS + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            KeyError,
            NotImplementedError,
            OSError,
            RuntimeError,
            ValueError,
        ) as error:
            raise ModelError(f"{name} cannot be read from the archive behind the model") from error
        if len(content) > LARGEST_LABELS:
            raise ModelError(f"{name} is larger than {LARGEST_LABELS} bytes")
        return tuple(content.decode("utf-8", "replace").splitlines())

    # -- the fields of a table ---------------------------------------------------------------

    def _at(self, table: Table, field: int) -> int:
        """Where a field is in the data; 0 if it is left out."""
        offset = table.Offset(4 + 2 * field)
        return table.Pos + offset if offset else 0

    def _table(self, table: Table, field: int) -> Table:
        at = self._at(table, field)
        return Table(self._data, table.Indirect(at))

    def _tables(self, table: Table, field: int) -> list[Table]:
        at = self._at(table, field)
        if not at:
            return []
        first, length = table.Vector(at - table.Pos), table.VectorLen(at - table.Pos)
        self._spend(length)
        return [Table(self._data, table.Indirect(first + 4 * n)) for n in range(length)]

    def _floats(self, table: Table, field: int) -> tuple[float, ...]:
        at = self._at(table, field)
        if not at:
            return ()
        first, length = table.Vector(at - table.Pos), table.VectorLen(at - table.Pos)
        self._spend(length)
        return tuple(
            float(table.Get(number_types.Float32Flags, first + 4 * n)) for n in range(length)
        )

    def _byte(self, table: Table, field: int) -> int:
        at = self._at(table, field)
        return int(table.Get(number_types.Uint8Flags, at)) if at else 0

    def _text(self, table: Table, field: int) -> str:
        at = self._at(table, field)
        return str(table.String(at), "utf-8", "replace") if at else ""

    def _spend(self, items: int) -> None:
        """Count items about to be read: a small file may claim long or shared vectors."""
        self._left -= items
        if self._left < 0:
            raise ModelError("its lists are larger than the file")
