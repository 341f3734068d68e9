"""The static model of what tiles cost: none spills, and 1x1 convolutions load little."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import conv, window
from devices import own_profile
from graphs import Model, call, model, w, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ops.base.choose_tile import choose_tile
from tflgpu.compiler.ops.base.cost import IN_ROWS, LANES, WHOLE_SLICES, Loads, Work
from tflgpu.compiler.ops.base.tile import Area, Tile
from tflgpu.compiler.ops.base.window import Window
from tflgpu.compiler.ops.conv.depthwise_conv import SingleColumn
from tflgpu.compiler.target import Target
from tflgpu.compiler.telling import silent
from tflgpu.compiler.tools.explain import explain

GPUS = ("adreno", "amd", "gles31", "gpu", "intel_gpu", "mali", "nvidia")
# Pixels and slices of output channels, as in MobileNet v1.
SIZES = ((112 * 112, 16), (56 * 56, 32), (28 * 28, 64), (14 * 14, 128), (7 * 7, 256), (13, 1))
COLUMN = SingleColumn(Window(3, 3, 1, 1, 1, 1, 1, 1, 1, 1))
# Loads and stores of a depthwise convolution that Mesa's compiler for Mali G52 counts, by size and
# stride of its window, for 1, 2, 3... rows of a work-item. Loops were unrolled, as they count once
# otherwise; rows that spill then are left out.
MALI_LOADS = {
    (3, 1): (23, 28, 33, 38, 43, 48, 53, 58),
    (3, 2): (23, 31, 39, 47, 55),
    (5, 1): (55, 62, 69, 76),
    (5, 2): (55, 67),
}

# The fewest and most registers that ptxas gave 1x1 convolutions of 33 networks for sm_86, by the
# pixels of a tile of one slice.
NVIDIA_REGISTERS = {2: (40, 48), 3: (50, 52), 4: (60, 62), 5: (64, 70), 6: (64, 76), 7: (76, 84)}

# Whether kernels of 35 quantized networks spilled with Mesa's compiler for Mali G52, by the pixels
# of a tile and the operands that the epilogue reads.
MALI_SPILLS = {
    (COLUMN, 8, 0): False,
    (COLUMN, 7, 1): False,
    (COLUMN, 8, 1): True,
    (COLUMN, 8, 2): True,
    (IN_ROWS, 8, 5): False,
    (IN_ROWS, 8, 6): True,
}


def pointwise(pixels: int, inputs: int, outputs: int) -> Model:
    """A 1x1 convolution whose input is stored in slices."""
    relu = {"fused_activation_function": "RELU6"}
    image = conv(x(1, pixels, pixels, 3), (inputs, 3), (1, 1), **relu)
    return model({"y": conv(image, (outputs, inputs), (1, 1))})


@pytest.mark.parametrize("name", GPUS)
@pytest.mark.parametrize("work", [WHOLE_SLICES, IN_ROWS, LANES, Loads(addresses=3), COLUMN])
@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_tiles_fit_in_registers(name: str, work: Loads, precision: str) -> None:
    device = profile(name)
    target = Target(device, precision=precision)
    for columns, slices in SIZES:
        area = Area(columns, 1, slices=slices)
        tile = choose_tile(area, target, work=work)
        step = work.step(tile, area, target)
        assert step.registers <= device.registers
        assert f"{step.registers} of {device.registers} registers" in tile.explanation


@pytest.mark.parametrize("pixels", NVIDIA_REGISTERS)
def test_pixels_that_are_loaded_ahead_hold_registers(pixels: int) -> None:
    fewest, most = NVIDIA_REGISTERS[pixels]
    step = IN_ROWS.step(Tile(pixels, 1), Area(pixels, 1), Target(profile("nvidia")))
    assert fewest <= step.registers <= most


@pytest.mark.parametrize("kernel", MALI_SPILLS)
def test_operands_of_epilogues_hold_registers(kernel: tuple[Work, int, int]) -> None:
    work, pixels, operands = kernel
    area = Area(pixels, 1, operands=operands)
    step = work.step(Tile(pixels, 1), area, Target(profile("mali")))
    assert step.spills == MALI_SPILLS[kernel]


@pytest.mark.parametrize("parameters, rows", [(0, 8), (1, 7)])
def test_an_epilogue_with_operands_leaves_fewer_rows(parameters: int, rows: int) -> None:
    """A factor for each channel is one, the limits of RELU6 are literals."""
    relu = {"fused_activation_function": "RELU6"}
    image = conv(x(1, 56, 56, 3), (128, 3), (1, 1), **relu)
    size = {**window(), "depth_multiplier": 1}
    column = call("DEPTHWISE_CONV_2D", image, w(1, 3, 3, 128), w(128), **size)
    made = model(
        {"y": call("PRELU", column, w(1, 1, 128)) if parameters else call("RELU6", column)}
    )
    plan = build(made.content, Options(device="mali")).plan
    (why,) = [each.why for each in plan.dispatches if "columns" in plan.kernels[each.kernel].name]
    assert why.startswith(f"tile {rows} x 1")


def test_what_does_not_fit_at_all_is_as_small_as_possible(tmp_path: Path) -> None:
    device = profile(own_profile(tmp_path, "gpu", registers=16))
    assert choose_tile(Area(64, 1, slices=4), Target(device)) == Tile(1, 1)


def test_a_tile_of_a_table_is_taken_as_it_is() -> None:
    assert choose_tile(Area(13, 1, slices=8), Target(profile("mali")), (4, 2)) == Tile(4, 2)


def test_tiles_whose_rows_have_no_rest_need_no_addresses() -> None:
    """196 pixels are 24.5 tiles of 8, whose addresses would take the registers of four slices."""
    target = Target(profile("mali"))
    assert WHOLE_SLICES.step(Tile(8, 1), Area(14 * 14, 1), target).spills
    assert not WHOLE_SLICES.step(Tile(8, 1), Area(56 * 56, 1), target).spills
    assert choose_tile(Area(56 * 56, 1, slices=32), target) == Tile(8, 1)
    assert choose_tile(Area(14 * 14, 4, slices=128), target) == Tile(7, 1)


def test_tiles_of_rows_that_start_earlier_have_one_address() -> None:
    """1,089 pixels are 136 tiles of 8 and one of a single pixel."""
    mali, nvidia = Target(profile("mali")), Target(profile("nvidia"))
    area = Area(33 * 33, 1, slices=64)
    assert choose_tile(area, mali) == Tile(5, 1)
    assert choose_tile(area, mali, work=IN_ROWS) == Tile(7, 1)
    assert IN_ROWS.step(Tile(8, 1), area, mali).spills
    assert choose_tile(replace(area, slices=128), nvidia, work=IN_ROWS) == Tile(4, 2)


@pytest.mark.parametrize(
    "pixels, inputs, outputs", [(14, 256, 512), (7, 512, 1024), (7, 1024, 1024)]
)
def test_deep_layers_load_little_on_nvidia(pixels: int, inputs: int, outputs: int) -> None:
    """At least 64 multiply-adds of floats for 9 loads of slices, and work for all of the device."""
    made = pointwise(pixels, inputs, outputs)
    plan = build(made.content, Options(device="nvidia")).plan
    shared = plan.dispatches[-1]
    assert "conv_shared" in plan.kernels[shared.kernel].name
    assert plan.kernels[shared.kernel].group == (32, 4, 1)
    assert shared.grid[0] * shared.grid[1] >= 6144
    per_load = float(shared.why.split(" multiply-adds a load")[0].split()[-1]) * 4
    assert per_load >= 64 / 9


def test_depthwise_convolutions_load_what_a_compiler_makes_of_them() -> None:
    """What the compiler adds, such as the address of each store, is a seventh to a quarter."""
    target = Target(profile("mali"))
    costs, cycles = [], []
    for (size, stride), counted in MALI_LOADS.items():
        window = Window(size, size, stride, stride, 1, 1, 1, 1, 1, 1)
        for rows, loads in enumerate(counted, 1):
            step = SingleColumn(window).step(Tile(rows, 1), Area(rows, 1), target)
            assert 0.75 * loads <= step.loads + rows <= loads
            costs.append(step.cost / rows)
            cycles.append(loads / rows)
    ranks = [np.argsort(np.argsort(each)) for each in (costs, cycles)]
    assert np.asarray(np.corrcoef(ranks))[0, 1] >= 0.95


def test_explain_shows_the_estimate() -> None:
    made = pointwise(28, 64, 128)
    choice = explain(made.content, Options(device="nvidia"), silent).choices[1]
    assert choice.sizes == (
        "tile 4 x 2: smallest estimated time, 8 accumulators, 2.7 multiply-adds a load, "
        "76 of 80 registers, 12544 work-items; group: required by the kernel",
    )
