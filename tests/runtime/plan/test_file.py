"""Plans as files: what is written is what is read, and no damaged file passes for a plan."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import chain

from tflgpu.compiler.emit.facts import stated
from tflgpu.runtime.errors import PlanError
from tflgpu.runtime.plan.file import FORMAT_VERSION, HEADER, from_bytes, to_bytes
from tflgpu.runtime.plan.kernels import Kernel
from tflgpu.runtime.plan.records import (
    Argument,
    Dispatch,
    Memory,
    PlacedTensor,
    Plan,
    Region,
    TensorInfo,
)
from tflgpu.runtime.plan.seal import sealed
from tflgpu.runtime.plan.storage import DEVICE_TYPES

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=7)

sizes = st.integers(0, 1 << 38)

names = st.lists(text, max_size=3, unique=True)


@st.composite
def infos(draw: st.DrawFn) -> tuple[TensorInfo, ...]:
    """Inputs or outputs of any type and rank, some scalar, some empty."""
    return tuple(
        TensorInfo(
            name,
            tuple(draw(st.lists(st.integers(0, 31), max_size=6))),
            draw(st.sampled_from(sorted(DEVICE_TYPES))),
            draw(st.floats(0, 1e6)),
            draw(st.integers(-255, 255)),
        )
        for name in draw(names)
    )


@st.composite
def kernels(draw: st.DrawFn) -> tuple[Kernel, ...]:
    groups = st.tuples(st.integers(1, 32), st.integers(1, 32), st.integers(1, 64))

    def kernel(index: int) -> Kernel:
        digest, group = draw(st.binary(min_size=32, max_size=32)), draw(groups)
        return Kernel(f"k{index}", f"kernels/{index:03}_k.cl", digest, group, 2)

    return tuple(map(kernel, range(draw(st.integers(1, 4)))))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any valid plan."""
    present = draw(kernels())
    arena, weights = draw(sizes), draw(sizes)
    dispatches = []
    for number in range(draw(st.integers(0, 3))):
        kernel = draw(st.integers(0, len(present) - 1))
        x, y, z = (size * draw(st.integers(1, 9)) for size in present[kernel].group)
        arguments = []
        for region, size in ((Region.ARENA, arena), (Region.WEIGHTS, weights)):
            offset = draw(st.integers(0, size))
            length = draw(st.integers(0, size - offset))
            writes = region is Region.ARENA
            texels = not writes and length and length % 16 == 0
            texel = draw(st.sampled_from((0, 8, 16))) if texels else 0
            arguments.append(Argument(region, 0, offset, length, writes, texel))
        operators = tuple(draw(st.lists(st.integers(0, 999), max_size=3)))
        dispatches.append(
            Dispatch(kernel, (x, y, z), tuple(arguments), draw(text), operators, number)
        )
    last = len(dispatches)
    tensors = (
        [PlacedTensor("t", (), "int8", 0, Region.ARENA, 0, 0, 4, -1, last)] if arena >= 4 else []
    )
    plan = Plan(
        *(draw(text), "opencl", draw(text), draw(text), draw(text), "0f" * 32),
        *(draw(text), draw(text), draw(infos()), draw(infos()), arena, weights),
        *(draw(st.binary(min_size=32, max_size=32)), present, tuple(dispatches), tuple(tensors)),
        Memory(draw(sizes), draw(sizes), draw(sizes)),
    )
    return sealed(stated(plan))


@settings(max_examples=60, deadline=None)
@given(plans())
def test_a_plan_is_read_as_it_was_written(plan: Plan) -> None:
    data = to_bytes(plan)
    assert from_bytes(data) == plan
    assert to_bytes(plan) == data


@pytest.mark.parametrize("length", [0, 1, 7, HEADER.size - 1, HEADER.size, 1009])
def test_a_truncated_plan_is_refused(length: int) -> None:
    with pytest.raises(PlanError, match=r"^x/plan.tflgpu (is not a plan|is damaged)"):
        from_bytes(to_bytes(chain().plan)[:length], "x/plan.tflgpu")


@settings(deadline=None)
@given(st.data())
def test_a_plan_with_a_flipped_bit_is_refused(data: st.DataObject) -> None:
    content = bytearray(to_bytes(chain().plan))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(PlanError, match="compile the model again"):
        from_bytes(bytes(content))


@pytest.mark.parametrize(
    ("version", "advice"), [(99, "install a newer version of tflgpu, or compile"), (1, "compile")]
)
def test_a_plan_of_another_version_is_refused(version: int, advice: str) -> None:
    content = bytearray(to_bytes(chain().plan))
    content[8] = version
    match = f"version {version}, this runtime reads {FORMAT_VERSION}; {advice} the model again"
    with pytest.raises(PlanError, match=match):
        from_bytes(bytes(content))
