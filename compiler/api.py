"""`compile`, the entry point for programs that use tflgpu."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from ..runtime import load
from ..runtime.remote.url import is_url, without_password
from .arguments import formats, kept, listed, shapes, signatures
from .emit.compiled_model import fallback_texts
from .errors import FallbackWarning, OptionError
from .frontend.model_file import Model
from .keep_f32 import AUTO, TOLERANCE, settle
from .options import Fallback, Nan, Options, Precision, TargetName
from .pipeline import build, write
from .telling import tell


def compile(
    model: Model,
    cache: str | os.PathLike[str],
    *,
    target: TargetName = "opencl",
    precision: Precision = "f32",
    device: str = "auto",
    fallback: Fallback = "litert",
    fallback_ops: Sequence[str | int] = (),
    custom_ops: Sequence[str] = (),
    keep_f32: Sequence[str | int] | Literal["auto"] = (),
    tolerance: float = TOLERANCE,
    signature: str | Sequence[str] = (),
    tuning: str | os.PathLike[str] = "",
    input_shapes: Mapping[str, Sequence[int]] | Sequence[Mapping[str, Sequence[int]]] = (),
    cut_tables: bool = False,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    keep: Mapping[str, str] | None = None,
    disable_passes: Sequence[str] = (),
    nan: Nan = "keep",
    keep_intermediates: bool = False,
    prebuild: str = "",
) -> Path:
    """Compile a model into a cache folder, and return the folder of the compiled variant.

    Args:
        model: The path of a .tflite file, or its content as bytes.
        cache: The cache folder, created if it does not exist.
        target: The language of the kernels. tflgpu's own runtime does not run plans for "vulkan"
            and "metal".
        precision: "f32"; "f32_f16", which stores weights and slices of activations in half
            precision and computes in single; or "f16", in which layers also multiply and add in
            half precision if the device profile says that this is fast.
        device: "auto", part of the name of an attached device, or the name or file of a device
            profile.
        fallback: Where operators run that the device cannot run: "litert", with a FallbackWarning
            that lists them; or "none", which makes them an UnsupportedError.
        fallback_ops: Names and indices of operators to run on LiteRT in any case.
        custom_ops: Names of operators, known to tflgpu or not, that functions of the application
            compute; `tflgpu.load` takes the functions. The model file must have the shapes of their
            results.
        keep_f32: Operators, by name or index or by a tensor that they compute, that stay in single
            precision although others are in half; "auto" searches for few of them with which the
            outputs are within `tolerance`, as measured on an attached device; a TflgpuWarning says
            so if none can run the model.
        tolerance: For keep_f32="auto": the allowed error, relative to the largest absolute value of
            an output or to 1.
        signature: The model's signature to compile, which also names the inputs and outputs; a list
            of several, or "all" of them, with the weights stored once, of which `Session.run` takes
            one; () compiles the first subgraph under its own tensor names.
        tuning: A tuning table with tiles and work-groups, as `tflgpu compile --tune` writes it.
        input_shapes: Input shapes, by name, that replace the model's. A list of several such
            mappings, each naming the same inputs, compiles the model for each of them, with the
            weights stored once; `Session.run` then picks by the shapes of its inputs. With several
            signatures, "decode/tokens" is the input `tokens` of the signature `decode` alone.
        cut_tables: Let constants along an axis that is shorter in `input_shapes` keep their first
            entries alone, as is right for positions and masks.
        inputs: Formats of inputs, by name, for pictures of bytes that the device crops, resizes and
            normalizes: "rgba8, size=1920x1080, resize=bilinear, mean=127.5, std=127.5".
        outputs: Formats of outputs, by name: "softmax", "argmax", or pictures such as "rgba8,
            mean=127.5, std=127.5".
        keep: Outputs that stay on the device as the inputs that they update, such as {"cache_out":
            "cache_in"} or, with one `*` for any text, {"kv_*": "kv_*"}. Runs neither take nor
            return them; they start with zeros, and all signatures and input shapes share them.
        disable_passes: Names of rewrites to leave out, for finding the one at fault.
        nan: What RELU, MAXIMUM and other limits make of NaN: "keep" hands it on, as LiteRT does;
            with "any" they may return any number instead, which takes fewer instructions.
        keep_intermediates: Give every intermediate tensor its own memory, so that all of them can
            be read after a run.
        prebuild: An attached device, named as in `tflgpu.load`, whose driver compiles the kernels
            now instead of at the first load.

    Raises:
        ModelError: The model cannot be read or is invalid.
        UnsupportedError: Operators cannot run; `findings` lists all of them.
        OptionError: An option has an invalid value, or two options contradict each other.
        DeviceError: There is no such device.
        PlanError: The cache cannot be used.
        TflgpuError: LiteRT or a program that the target needs is not installed; with `prebuild`,
            anything that `tflgpu.load` raises.
    """
    if is_url(cache):
        raise OptionError(
            f"{without_password(cache)} is a URL, but `compile` writes a folder; compile_many and "
            f"`tflgpu-compile -o` take URLs"
        )
    options = Options(
        target=target,
        precision=precision,
        device=device,
        fallback=fallback,
        fallback_ops=listed("fallback_ops", fallback_ops),
        custom_ops=listed("custom_ops", custom_ops),
        keep_f32=AUTO if keep_f32 == "auto" else listed("keep_f32", keep_f32),
        signature=signatures(signature),
        tuning=os.fspath(tuning),
        input_shapes=shapes(input_shapes),
        cut_tables=cut_tables,
        inputs=formats("inputs", inputs),
        outputs=formats("outputs", outputs),
        keep=kept(keep),
        disable_passes=listed("disable_passes", disable_passes),
        nan=nan,
        keep_intermediates=keep_intermediates,
    )
    options = settle(model, options, tolerance)
    compiled = build(model, options)
    for text in fallback_texts(compiled.report):
        tell(FallbackWarning(text))
    folder = write(compiled, Path(cache))
    if prebuild:
        build_kernels(folder, prebuild)
    return folder


def build_kernels(folder: Path, device: str) -> None:
    """Let the driver of an attached device compile a variant's kernels, and store the binaries.

    `device` and the errors are those of `tflgpu.load`. The plan does not change.
    """
    load(folder, device=device).close()
