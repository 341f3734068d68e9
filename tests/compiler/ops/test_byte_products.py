"""Layers that multiply bytes: the sums are those of the integers, whatever their zero points."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_litert, run
from cases import families
from cases.convolutions import window
from cases.quantized_layers import bias, weights
from cases.quantized_weights import in_blocks
from devices import need_lanes, need_programs, only_instructions
from graphs import Model, call, ints, model, quantized, w, x, xq

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Array, Op, Tensor, Whole, constant
from tflgpu.compiler.ops.layers.byte_products import multiplies_bytes
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.target import SOURCE_LANGUAGES, Target

WIDE, NARROW = "cpu_avx512_bytes", "cpu_avx2_bytes"
WINDOWS: dict[str, dict[str, Any]] = {
    "3x3": window(),
    "stride": window("VALID", (2, 3)),
    "stride to the edges": window("SAME", (3, 2)),
    "dilation": window(dilation=(2, 4)),
}
LAYERS = len(WINDOWS) + 7


def layers(dtype: str, zero: int) -> Model:
    """Convolutions of 37 channels, of which some are left out of the last slice, and matrices.

    The sums of "deep" and "row-major" may pass 2^24. With int8, the last weights have 4 bits, in an
    odd and in an even number of words.
    """
    like: dict[str, Any] = {"dtype": dtype, "zero": zero}
    image, rows, deep = xq(2, 9, 29, 37, **like), xq(5, 101, **like), xq(1, 4, 7, 228, **like)
    results = {}
    for name, geometry in WINDOWS.items():
        filters = weights((23, 3, 3, 37), channels=dtype == "int8", dtype=dtype)
        operands = image, filters, bias(filters, 23)
        results[name] = quantized("CONV_2D", *operands, **like, scale=0.6, **geometry)
    filters = weights((67, 1, 1, 37), channels=dtype == "int8", dtype=dtype)
    operands = image, filters, bias(filters, 67)
    results["1x1"] = quantized("CONV_2D", *operands, **like, scale=0.6, **window())
    filters = weights((11, 4, 3, 37), channels=dtype == "int8", dtype=dtype)
    results["transposed"] = quantized(
        "TRANSPOSE_CONV",
        *(ints(2, 18, 58, 11), filters, image, bias(filters, 11)),
        **like,
        scale=0.6,
        padding="SAME",
        stride_h=2,
        stride_w=2,
    )
    filters = weights((19, 101), channels=False, dtype=dtype)
    operands = rows, filters, bias(filters, 19)
    results["matrix"] = quantized("FULLY_CONNECTED", *operands, **like, scale=0.6)
    filters = weights((23, 3, 3, 228), channels=dtype == "int8", dtype=dtype)
    operands = deep, filters, bias(filters, 23)
    results["deep"] = quantized("CONV_2D", *operands, **like, scale=2.0, **window())
    filters = weights((19, 12 * 140), channels=False, dtype=dtype)
    operands = xq(7, 12, 140, **like), filters, bias(filters, 19)
    results["row-major"] = quantized("FULLY_CONNECTED", *operands, **like, scale=4.0)
    for inputs in (100, 168):
        filters = weights((37, inputs), dtype="int4" if dtype == "int8" else dtype, channels=False)
        operands = xq(5, inputs, **like), filters, bias(filters, 37)
        results[f"{inputs} inputs"] = quantized("FULLY_CONNECTED", *operands, **like, scale=0.1)
    return model(results)


def built(made: Model, device: str = WIDE, target: TargetName = "opencl") -> CompiledModel:
    return pipeline.build(made.content, Options(device=device, target=target, fallback="none"))


# Each instruction multiplies bytes of one kind by those of the other at the ends of their ranges.
INSTRUCTIONS = (
    *((WIDE, "avx512_vnni"), (WIDE, "avx512bw"), (WIDE, ""), (NARROW, "avx_vnni")),
    *((NARROW, "avx2"), ("cpu_arm_bytes", "asimddp"), ("intel_xe", "")),
)
ENDS = (("int8", -128), ("int8", 127), ("uint8", 126), ("uint8", 131))


@pytest.mark.parametrize(
    ("device", "instruction", "dtype", "zero"),
    [
        (*each, *end)
        for i, each in enumerate(INSTRUCTIONS)
        for end in (ENDS if each in INSTRUCTIONS[::4] else ENDS[i % 2 :: 2])
    ],
)
def test_bits_are_those_of_litert(
    dtype: str,
    zero: int,
    device: str,
    instruction: str,
    driver: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only_instructions(monkeypatch, instruction)
    agrees(layers(dtype, zero), device, driver, tmp_path)


@pytest.mark.parametrize("device", [WIDE, NARROW])
def test_bits_on_every_driver(device: str, opencl_device: str, tmp_path: Path) -> None:
    """Each compiler has a way of its own to use the instruction."""
    need_lanes(opencl_device, profile(device).slice_width)
    agrees(layers("int8", 127), device, opencl_device, tmp_path)


def agrees(made: Model, profile: str, device: str, folder: Path) -> None:
    compiled = built(made, profile)
    kernels = [kernel.file for kernel in compiled.plan.kernels if "_bytes" in kernel.file]
    assert len(kernels) == LAYERS
    found = exact(compiled, made, device, folder)
    assert min(len(np.unique(each)) for each in found.values()) > 20


def exact(compiled: CompiledModel, made: Model, device: str, folder: Path) -> dict[str, Array]:
    """What a device computes, which has LiteRT's bits."""
    found = run(compiled, device, folder, made.inputs)
    assert_litert(found, made, 0.0, kernels="XNNPACK")
    return found


def test_wide_sums_of_images_that_are_not_stored_as_bytes(driver: str, tmp_path: Path) -> None:
    """Their numbers become bytes as they are read."""
    made = layers("uint8", 131)
    disabled = ("store_integers",)
    for device in (WIDE, "intel_xe"):
        options = Options(device=device, fallback="none", disable_passes=disabled)
        compiled = pipeline.build(made.content, options)
        assert sum("_bytes" in kernel.file for kernel in compiled.plan.kernels) == 3
        exact(compiled, made, driver, tmp_path)


@pytest.mark.parametrize("device", [WIDE, NARROW])
@pytest.mark.parametrize(("family", "others"), [("quantized layers", 0), ("quantized weights", 2)])
def test_transposed_convolutions_multiply_bytes(
    family: str, others: int, device: str, driver: str, tmp_path: Path
) -> None:
    """Also of floats, unless strides leave so many gaps that floats are faster."""
    named = ("TRANSPOSE_CONV SAME", "TRANSPOSE_CONV VALID")
    cases = [case for case in families()[family] if case.situation.startswith(named)]
    made = model({f"y{n}": case.values[0] for n, case in enumerate(cases)})
    compiled = built(made, device)
    launched = [compiled.plan.kernels[each.kernel].file for each in compiled.plan.dispatches]
    assert sum("_bytes" in file for file in launched) == len(cases) - others
    exact(compiled, made, driver, tmp_path)


def test_two_weights_of_4_bits_share_a_byte() -> None:
    sources = [
        text for file, text in built(layers("int8", 127)).sources.items() if "_bytes" in file
    ]
    assert sum("lower_nibbles(both" in text for text in sources) == 2


def test_rows_are_read_as_words_where_they_lie() -> None:
    compiled = built(layers("int8", 127))
    assert sum("word_at(x, " in text for text in compiled.sources.values()) == 2


@pytest.mark.parametrize("device", ["amd_rdna2", "intel_xe", "nvidia"])
def test_kernels_for_vulkan_have_the_instruction(device: str, tmp_path: Path) -> None:
    """OpSDot, which tools that validate SPIR-V for Vulkan 1.3 take."""
    need_programs("glslangValidator", "spirv-val", "spirv-dis")
    compiled = built(layers("uint8", 131), device, "vulkan")
    files = [kernel.file for kernel in compiled.plan.kernels if "_bytes" in kernel.file]
    assert len(files) == LAYERS
    assert compiled.plan.needs.extensions == ("VK_KHR_shader_integer_dot_product",)
    folder = pipeline.write(compiled, tmp_path)
    for file in files:
        module = (folder / file).with_suffix(".spv")
        subprocess.run(["spirv-val", "--target-env", "vulkan1.3", module], check=True)
        listing = subprocess.run(["spirv-dis", module], capture_output=True, text=True, check=True)
        assert "OpCapability DotProductInput4x8BitPacked" in listing.stdout
        assert listing.stdout.count("= OpSDot %int") >= 4


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -128), ("uint8", 131)])
def test_bits_of_kernels_in_wgsl_are_those_of_litert(
    dtype: str, zero: int, tmp_path: Path, webgpu_device: str
) -> None:
    made = layers(dtype, zero)
    compiled = built(made, "nvidia", "wgsl")
    launched = (compiled.plan.kernels[each.kernel].file for each in compiled.plan.dispatches)
    assert sum("dot4I8Packed" in compiled.sources[file] for file in launched) == LAYERS
    exact(compiled, made, webgpu_device, tmp_path)


def of_blocks() -> Model:
    """Layers of a single row and of some, whose weights have a scale for each block of inputs."""
    return model(
        {
            f"{rows} rows in blocks of {size}": call(
                "FULLY_CONNECTED", x(rows, 192), in_blocks((37, 192), size), w(37)
            )
            for rows in (1, 7)
            for size in (32, 64)
        }
    )


def of_blocks_agree(compiled: CompiledModel, made: Model, device: str, folder: Path) -> int:
    """How many layers multiply bytes, where all results are those of LiteRT."""
    assert_litert(run(compiled, device, folder, made.inputs), made, 1e-6, kernels="XNNPACK")
    launched = [compiled.plan.kernels[each.kernel].file for each in compiled.plan.dispatches]
    return sum("_bytes" in file for file in launched)


@pytest.mark.parametrize(
    ("device", "layers"), [(WIDE, 4), (NARROW, 4), ("cpu_arm_bytes", 4), ("intel_xe", 2)]
)
def test_sums_of_blocks_add_up_in_floats(
    device: str, layers: int, driver: str, tmp_path: Path
) -> None:
    """On GPUs those of a single row are shared."""
    made = of_blocks()
    assert of_blocks_agree(built(made, device), made, driver, tmp_path) == layers


def test_sums_of_blocks_in_wgsl(tmp_path: Path, webgpu_device: str) -> None:
    made = of_blocks()
    compiled = built(made, "nvidia", "wgsl")
    assert of_blocks_agree(compiled, made, webgpu_device, tmp_path) == 2


def test_glsl_es_and_older_gpus_have_kernels_of_floats() -> None:
    for device, target in (("nvidia", "glsl"), ("nvidia", "opencl"), ("amd", "vulkan")):
        assert not Target(profile(device), SOURCE_LANGUAGES[target]).byte_products


def layer(base: int | None = -128, highest: float = 0.0, **attrs: Any) -> Op:
    image, result = Tensor("x", (1, 5, 7, 9)), Tensor("y", (1, 5, 7, 3))
    image.whole = None if base is None else Whole(8, base)
    filters = np.full((3, 1, 1, 9), -130.0, np.float32)
    filters[0] = highest
    operands = image, constant("w", filters), None
    return Op("CONV_2D", operands, (result,), {**window(), "exact": True, **attrs})


def test_what_it_can_compute() -> None:
    target = Target(profile(WIDE))
    assert multiplies_bytes(layer(highest=125), target) is None
    assert multiplies_bytes(layer(), Target(profile("cpu_avx512"))) == (
        "the device does not multiply bytes"
    )
    for op in (layer(base=None), layer(exact=False)):
        assert multiplies_bytes(op, target) == "its image is not stored as bytes"
    assert "its weights are no bytes" in str(multiplies_bytes(layer(highest=126), target))
    known = layer()
    image, weights, _ = known.inputs
    bias = Tensor("b", (3,))
    tables = (Tensor("w", known.operand(1).shape), None), (weights, bias)
    for position, others in enumerate(tables, 1):
        op = Op(known.name, (image, *others), known.outputs, known.attrs)
        assert multiplies_bytes(op, target) == f"input {position} is computed while the model runs"
