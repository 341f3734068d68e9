"""Files that are no .tflite models: what they are, and what makes a .tflite model of them."""

import re
import zipfile
from io import BytesIO

_KERAS = "tf.lite.TFLiteConverter.from_keras_model(tf.keras.models.load_model(FILE)).convert()"
_TORCH = "litert_torch.convert(module, example_inputs).export('model.tflite')"

# What a file is and what to do about it, by a regular expression for its beginning.
HEADS = {
    rb"version https://git-lfs": ("a pointer of Git LFS", "fetch the file with: git lfs pull"),
    rb"\s*<(!DOCTYPE|html|\?xml)": (
        "a web page, saved in place of the download",
        "open its URL in a browser, and download the file itself",
    ),
    rb"\x89HDF": ("a model or weights in HDF5, as Keras writes them", f"convert it with {_KERAS}"),
    # ModelProto: ir_version from 3, then the producer's name, the graph or the operator sets.
    rb"\x08[\x03-\x1f](\x12[\x01-\x40][ -~]|[\x3a\x42])": (
        "an ONNX model",
        "convert it with: onnx2tf -i FILE",
    ),
    rb"\x08\x01\x12": (
        "a SavedModel of TensorFlow",
        "convert its folder with tf.lite.TFLiteConverter.from_saved_model(FOLDER).convert()",
    ),
    # GraphDef: a node with its name and operator.
    rb"\n[^\n]{1,3}\n.[ -~]{1,200}\x12.[A-Z]": (
        "a frozen graph of TensorFlow",
        "convert it with tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(...).convert()",
    ),
    rb".{4}ET\d\d": ("a program of ExecuTorch", f"convert the module itself with {_TORCH}"),
    rb"\x80[\x02-\x05]": ("a pickle, as PyTorch writes it", f"convert the module with {_TORCH}"),
    rb".{8}\{\s*\"": ("weights in safetensors", f"convert the module that uses them with {_TORCH}"),
    rb"GGUF": ("weights in GGUF, for llama.cpp", f"convert the original module with {_TORCH}"),
    rb"LITERTLM": ("a bundle of LiteRT-LM", "compile the .tflite models that it was made of"),
    rb"\xff\xd8\xff|\x89PNG|GIF8|BM|RIFF....WEBP": (
        "a picture",
        "give the model first: tflgpu run MODEL PICTURE",
    ),
    rb"\x93NUMPY": ("an array of numpy", "give the model first: tflgpu run MODEL FILE.npy"),
    rb"\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd": ("compressed", "unpack it first"),
    rb".{257}ustar": ("an archive of tar", "unpack it first"),
}

# The same, by the name of a file in a ZIP archive.
MEMBERS = {
    r"(.*/)?model\.weights\.h5": ("a model of Keras", f"convert it with {_KERAS}"),
    r".*/(archive_format|serialized_exported_program\.json)|(.*/)?models/model\.json": (
        "an exported program of PyTorch",
        f"convert its module with {_TORCH}",
    ),
    r".*/data\.pkl": HEADS[rb"\x80[\x02-\x05]"],
}

LONGEST_HEAD = 1 << 10  # Bytes of a file that tell what it is.
SHOWN = 4  # How many models in an archive are named.


def described(content: memoryview) -> str:
    """What a file is and what to do about it; "" if it is of no known kind."""
    head = bytes(content[:LONGEST_HEAD])
    if head.startswith(b"PK\x03\x04"):
        what, advice = _archive(content)
        return f"it is {what}; {advice}"
    for pattern, (what, advice) in HEADS.items():
        if re.match(pattern, head, re.DOTALL):
            return f"it is {what}; {advice}"
    return ""


def _archive(content: memoryview) -> tuple[str, str]:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "a damaged ZIP archive", "download it again"
    models = [name for name in names if name.endswith(".tflite")]
    if models:
        shown = ", ".join(models[:SHOWN]) + ", ..." * (len(models) > SHOWN)
        return f"a ZIP archive with {shown}", "unpack it, as with unzip, and compile these"
    for pattern, found in MEMBERS.items():
        if any(re.fullmatch(pattern, name) for name in names):
            return found
    return "a ZIP archive without a .tflite model", "choose another file"
