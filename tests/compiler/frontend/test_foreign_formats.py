"""Files that people take for models: each is named, with what makes a .tflite model of it."""

import io
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from tflgpu.compiler import ModelError
from tflgpu.compiler.frontend.reader import read


def archive(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, b"content")
    return content.getvalue()


def saved(write: str, kind: str = "") -> bytes:
    """What a library writes."""
    content = io.BytesIO()
    if write == "numpy":
        np.save(content, np.zeros(3))
    elif write == "tar":
        with tarfile.open(fileobj=content, mode="w") as file:
            file.addfile(tarfile.TarInfo("name"))
    else:
        Image.new("RGB", (2, 2)).save(content, kind)
    return content.getvalue()


NODE = b"\n\x05input\x12\x0bPlaceholder"
FILES = {
    "ONNX model; .*onnx2tf": b"\x08\x08\x12\x07pytorch\x1a\x051.8.0:",
    "frozen graph of TensorFlow; .*from_frozen_graph": b"\n" + bytes([len(NODE)]) + NODE,
    "SavedModel of TensorFlow; .*from_saved_model": b"\x08\x01\x12\xcb\x10\n",
    "HDF5.*from_keras_model": b"\x89HDF\r\n\x1a\n" + bytes(40),
    "model of Keras; .*from_keras_model": archive("config.json", "model.weights.h5"),
    "exported program of PyTorch; .*litert_torch": archive("net/archive_format", "net/version"),
    "pickle.*litert_torch": archive("net/data.pkl", "net/version"),
    "a pickle": pickle.dumps({"weights": [1.0]}),
    "safetensors": struct.pack("<Q", 40) + b'{"weight":{"dtype":"F32"}}',
    "ZIP archive with a.tflite, b.tflite; unpack": archive("a.tflite", "b.tflite"),
    "ZIP archive without a .tflite model": archive("readme.txt"),
    "damaged ZIP archive": archive("a.tflite")[:40],
    "pointer of Git LFS; .*git lfs pull": b"version https://git-lfs.github.com/spec/v1\noid",
    "web page": b"\n<!DOCTYPE html><html>",
    "a picture; .*tflgpu run MODEL PICTURE": saved("picture", "JPEG"),
    "a picture": saved("picture", "WEBP"),
    "array of numpy": saved("numpy"),
    "archive of tar": saved("tar"),
    "ExecuTorch": b"\x20\0\0\0ET12" + bytes(40),
    "bytes 4 to 8 are not TFL3": bytes(100),
}


@pytest.mark.parametrize("named", FILES)
def test_each_is_named(named: str) -> None:
    with pytest.raises(ModelError, match=rf"not a \.tflite model: .*{named}"):
        read(FILES[named])
