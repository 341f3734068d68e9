"""Models with TFLite metadata: normalization and labels, and an archive behind the model."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import flatbuffers

from tflgpu.compiler.frontend import metadata as schema
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import _Writer


def described(
    model: Path | bytes,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    labels: Sequence[str] = (),
    kind: int = 2,
) -> bytes:
    """A model whose metadata has the scaling of its input, and the labels of its output.

    `kind` is the type of the file of labels.
    """
    writer = _Described(read(model), normalized(mean, std, "labels.txt" if labels else "", kind))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("labels.txt", "\n".join(labels))
    return writer.file() + (archive.getvalue() if labels else b"")


class _Described(_Writer):
    def __init__(self, graph: Any, content: bytes) -> None:
        super().__init__(graph)
        self.contents.append(content)

    def _table(self, name: str, /, **fields: Any) -> int:
        if name == "Model":
            text = self.builder.CreateString(schema.NAME)
            entry = super()._table("Metadata", Name=text, Buffer=1)
            fields["Metadata"] = self._offsets([entry])
        return super()._table(name, **fields)


def normalized(mean: Sequence[float], std: Sequence[float], file: str, kind: int) -> bytes:
    """The metadata of a model with an input and an output."""
    b = flatbuffers.Builder()
    units = []
    if mean:
        options = _table(b, {schema.MEAN: _floats(b, mean), schema.STD: _floats(b, std)})
        fields = {schema.UNIT: options}
        units = [_table(b, fields, {schema.UNIT_TYPE: schema.NORMALIZATION})]
    named = {schema.TENSOR_NAME: b.CreateString("photo")}
    image = _table(b, {**named, schema.PROCESS_UNITS: _vector(b, units)})
    name = {schema.FILE_NAME: b.CreateString(file)}
    files = [_table(b, name, {schema.FILE_TYPE: kind})] if file else []
    scores = _table(b, {schema.TENSOR_FILES: _vector(b, files)})
    ends = {schema.INPUTS: _vector(b, [image]), schema.OUTPUTS: _vector(b, [scores])}
    root = _table(b, {schema.SUBGRAPHS: _vector(b, [_table(b, ends)])})
    b.Finish(root, schema.IDENTIFIER)
    return bytes(b.Output())


def _table(
    b: flatbuffers.Builder, offsets: Mapping[int, int], numbers: Mapping[int, int] | None = None
) -> int:
    b.StartObject(8)
    for slot, offset in offsets.items():
        b.PrependUOffsetTRelativeSlot(slot, offset, 0)
    for slot, number in (numbers or {}).items():
        b.PrependUint8Slot(slot, number, 0)
    return int(b.EndObject())


def _vector(b: flatbuffers.Builder, tables: Sequence[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())


def _floats(b: flatbuffers.Builder, numbers: Sequence[float]) -> int:
    b.StartVector(4, len(numbers), 4)
    for number in reversed(numbers):
        b.PrependFloat32(number)
    return int(b.EndVector())
