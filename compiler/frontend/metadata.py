"""What a model file says about its inputs and outputs: its TFLite metadata.

The metadata is a flatbuffer of its own in a buffer of the model; files that it names, such as
labels, lie in a zip archive behind the model. The numbers below are the positions of the fields in
the tables of metadata_schema.fbs of the project tensorflow/tflite-support, version 1.1.0.
"""

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO

from ...runtime.errors import PlanError
from ...runtime.plan.buffer import OFFSET, Buffer
from ...runtime.typed_json import typed
from ..errors import ModelError
from .flatbuffer import Source
from .model_file import Model, ModelFile, content_of, name_of

NAME = "TFLITE_METADATA"  # The name of the model's buffer.
IDENTIFIER = b"M001"

SUBGRAPHS = 3  # ModelMetadata.subgraph_metadata; the first entry describes the first subgraph.
INPUTS, OUTPUTS = 2, 3  # SubGraphMetadata.input_tensor_metadata, and that of the outputs.
# TensorMetadata.name, process_units and associated_files.
TENSOR_NAME, PROCESS_UNITS, TENSOR_FILES = 0, 4, 6
UNIT_TYPE, UNIT = 0, 1
NORMALIZATION = 1  # The type of that union for NormalizationOptions.
MEAN, STD = 0, 1  # NormalizationOptions.mean and std.
FILE_NAME, FILE_TYPE = 0, 2  # AssociatedFile.name and type.
FIELDS = 7  # Of a table, the first ones, which hold all of these.
LABELS = (2, 3)  # TENSOR_AXIS_LABELS and TENSOR_VALUE_LABELS of AssociatedFileType.
LARGEST_LABELS = 1 << 24  # Most bytes of a file of labels.


@dataclass(frozen=True)
class TensorMetadata:
    """What the metadata says about an input or output."""

    name: str  # For people; unlike the tensor's name in the model.
    # Subtracted from pixels (0..255), for each channel or for all; () if it says nothing.
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()  # What pixels are then divided by.
    # The names of classes, by number: along the last axis, or of the tensor's values.
    labels: tuple[str, ...] = ()


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
    """Reads the flatbuffer `data`; the archive is behind the model. ValueError if it is malformed.

    A table is where each of its fields lies in the data; 0 for one that is left out.
    """

    def __init__(self, data: bytes, model: Model) -> None:
        if data[4:8] != IDENTIFIER:
            raise ModelError(f"it does not start with {IDENTIFIER.decode()}")
        self._buffer = Buffer(data, IDENTIFIER)
        self._model = model

    def metadata(self) -> Metadata:
        for subgraph in self._tables(self._table(0)[SUBGRAPHS]):
            return Metadata(
                tuple(map(self._tensor, self._tables(subgraph[INPUTS]))),
                tuple(map(self._tensor, self._tables(subgraph[OUTPUTS]))),
            )
        return Metadata()

    def _tensor(self, table: Sequence[int]) -> TensorMetadata:
        mean: tuple[float, ...] = ()
        std: tuple[float, ...] = ()
        for unit in self._tables(table[PROCESS_UNITS]):
            if self._byte(unit[UNIT_TYPE]) == NORMALIZATION:
                options = self._table(unit[UNIT])
                mean, std = self._floats(options[MEAN]), self._floats(options[STD])
        files = [
            self._text(file[FILE_NAME])
            for file in self._tables(table[TENSOR_FILES])
            if self._byte(file[FILE_TYPE]) in LABELS
        ]
        labels = self._labels(files[0]) if files else ()
        return TensorMetadata(self._text(table[TENSOR_NAME]), mean, std, labels)

    def _table(self, place: int) -> Sequence[int]:
        start, _, offsets = self._buffer.table(place, FIELDS)
        return [offset and start + offset for offset in offsets]

    def _tables(self, place: int) -> list[Sequence[int]]:
        start, count = self._buffer.vector(place, OFFSET.size) if place else (0, 0)
        return [self._table(start + OFFSET.size * number) for number in range(count)]

    def _floats(self, place: int) -> tuple[float, ...]:
        start, count = self._buffer.vector(place, 4) if place else (0, 0)
        return struct.unpack_from(f"<{count}f", self._buffer.data, start)

    def _byte(self, place: int) -> int:
        return self._buffer.data[place] if place else 0

    def _text(self, place: int) -> str:
        return str(self._buffer.content(place), "utf-8", "replace") if place else ""

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
