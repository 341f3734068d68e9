"""What a model's metadata says about its input and output, and files where it is damaged."""

from pathlib import Path

import pytest
from described import described
from paths import DIGITS_MODEL

from tflgpu.compiler import ModelError
from tflgpu.compiler.frontend.metadata import (
    Metadata,
    TensorMetadata,
    parse_metadata,
    read_metadata,
)
from tflgpu.runtime import PlanError

LABELS = tuple(f"digit {n}" for n in range(10))


def test_scaling_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(described(DIGITS_MODEL, (127.5, 1, 2), (63.75, 3, 4), LABELS))
    found = read_metadata(str(path))
    assert found == Metadata(
        (TensorMetadata("photo", (127.5, 1, 2), (63.75, 3, 4)),),
        (TensorMetadata("", labels=LABELS),),
    )
    assert parse_metadata(found.as_json()) == found
    assert read_metadata(path.read_bytes()) == found
    with pytest.raises(PlanError, match="metadata is malformed"):
        parse_metadata('{"inputs": 3}')


def test_models_that_say_nothing(tmp_path: Path) -> None:
    assert read_metadata(str(DIGITS_MODEL)) == Metadata()
    assert parse_metadata(Metadata().as_json()) == Metadata()
    path = tmp_path / "m.tflite"
    path.write_bytes(described(DIGITS_MODEL))
    assert read_metadata(str(path)) == Metadata((TensorMetadata("photo"),), (TensorMetadata(""),))
    path.write_bytes(described(DIGITS_MODEL, labels=LABELS, kind=1))
    assert read_metadata(str(path)).outputs == (TensorMetadata(""),)


def test_damaged_metadata_is_a_model_error(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    whole = described(DIGITS_MODEL, (127.5,), (127.5,), LABELS)
    path.write_bytes(whole[: whole.index(b"PK\x03\x04")])
    with pytest.raises(ModelError, match=r"labels\.txt cannot be read from the archive behind"):
        read_metadata(str(path))
    path.write_bytes(whole.replace(b"M001", b"M002"))
    with pytest.raises(ModelError, match=r"the metadata: it does not start with M001"):
        read_metadata(str(path))
    start = whole.index(b"M001")
    for at in range(start - 4, start + 300):
        path.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        try:
            read_metadata(str(path))
        except ModelError as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("method", [0, 8, 12, 14], ids=["stored", "deflate", "bzip2", "lzma"])
def test_a_damaged_archive(tmp_path: Path, method: int) -> None:
    """Whatever a decompressor raises is an error of the model."""
    path = tmp_path / "m.tflite"
    content = bytearray(described(DIGITS_MODEL, labels=LABELS))
    central = content.index(b"PK\x01\x02")
    content[central + 10] = content[content.index(b"PK\x03\x04") + 8] = method
    content[central + 20] = content[central + 24] = 0xFF  # more bytes than the file has
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"labels\.txt cannot be read from the archive"):
        read_metadata(str(path))


def test_the_metadata_of_real_models(models: Path) -> None:
    folder = models / "networks"
    found = read_metadata(str(folder / "mobilenet_v1" / "mobilenet_v1_0.25_224_quant.tflite"))
    assert (found.inputs[0].mean, found.inputs[0].std) == ((127.5,), (127.5,))
    assert len(found.outputs[0].labels) == 1001
    assert found.outputs[0].labels[1:3] == ("tench", "goldfish")
    ssd = folder / "ssd" / "coco_ssd_mobilenet_v1_1.0_quant_2018_06_29.tflite"
    assert [len(item.labels) for item in read_metadata(str(ssd)).outputs] == [0, 90, 0, 0]
