"""What a plan says beside its dispatches, on plans written by hand and on compiled models."""

from dataclasses import replace
from pathlib import Path

import pytest
from graphs import parsed
from guards import guarded
from plans import LENGTH, SIZE, chain, complete, copy, copy_source, single
from plans.chain import OFFSET

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.emit.facts import OPENCL_OPTIONS, PERSISTENT_OPTIONS, stated
from tflgpu.runtime import load
from tflgpu.runtime.plan.records import HostPart, TensorInfo
from tflgpu.runtime.plan.running import Element, Submission, TensorBuffer


def test_the_plan_has_the_size_of_each_buffer() -> None:
    plan = chain().plan
    whole = TensorBuffer(Element.FLOAT32, SIZE, SIZE, True)
    assert (plan.input_buffers, plan.output_buffers) == ((whole, whole), (whole,))
    assert [item.whole for item in plan.dispatches[0].arguments] == [True, True, False]


def test_an_output_that_kernels_write_in_whole_slices() -> None:
    """Its buffer has room for the slice, its tensor has not."""
    plan = chain().plan
    *others, last = plan.dispatches
    *reads, written = last.arguments
    longer = replace(last, arguments=(*reads, replace(written, size=SIZE + 12)))
    found = stated(replace(plan, dispatches=(*others, longer)))
    assert found.output_buffers == (TensorBuffer(Element.FLOAT32, SIZE, SIZE + 12, True),)
    assert found.dispatches[-1].arguments[-1].whole


def test_what_nobody_reads_is_not_copied() -> None:
    made = parsed("input x float32[3]\ninput unused float32[5]\ny = ABS(x)\noutput y")
    plan = pipeline.build(made.content, Options(device="gpu")).plan
    assert plan.input_buffers[1] == TensorBuffer(Element.FLOAT32, 20, 20, False)
    assert plan.input_buffers[0].used


def test_what_stays_on_the_host_has_no_elements() -> None:
    plan = chain().plan
    info = replace(plan.outputs[0], dynamic=True)
    part = HostPart("fallback/0.tflite", bytes(32), 3, (), (), "UNIQUE", (7, 9))
    found = stated(replace(plan, outputs=(info,), parts=(part,)))
    assert found.output_buffers[0].element is Element.NONE
    assert found.obstacles == (
        "operators 7, 9 (UNIQUE) run on LiteRT; `tflgpu explain` says why",
        "the shape of output y is only known after a run",
    )
    text = replace(plan, inputs=(TensorInfo("a", (2,), "string"), plan.inputs[1]))
    assert stated(text).obstacles == ("input a is of type string, which devices do not have",)


def test_arguments_beside_writes_to_their_buffer() -> None:
    """The second dispatch reads the sum in the arena, and writes what is scaled beside it."""
    second = chain().plan.dispatches[1]
    assert [item.beside_writes for item in second.arguments] == [True, False, False]


def test_the_plan_says_what_a_device_needs() -> None:
    plan = complete()
    needs = plan.needs
    assert (needs.alignment, needs.group, needs.group_sizes) == (64, 1, (1, 1, 1))
    assert (needs.group_counts, needs.arguments) == ((LENGTH, 1, 1), 4)
    assert (needs.argument_size, needs.buffer_size) == (SIZE, OFFSET + SIZE)
    assert (needs.image_texels, needs.extensions) == (3, ("cl_khr_fp16",))


def test_the_plan_has_a_schedule_with_barriers() -> None:
    single_launches, merged = complete().schedules
    assert [item.barrier for item in single_launches.submissions] == [False, True, True]
    assert (single_launches.kernels, single_launches.options) == ((0, 1, 2), OPENCL_OPTIONS)
    assert merged.submissions == (Submission(0, -1, False), Submission(1, 0, False))
    assert (merged.kernels, merged.options) == ((0,), PERSISTENT_OPTIONS)
    assert chain(target="glsl").plan.schedules[0].options == ""


def test_guards_notice_a_write_behind_a_buffer(tmp_path: Path, opencl_device: str) -> None:
    source = copy_source("float").replace("y[get", "y[1 + get")
    info = TensorInfo("x", (3,), "float32")
    parts = single(source, [info], replace(info, name="y"), 3)
    with guarded() as check, load(parts.write(tmp_path), device=opencl_device) as session:
        session.run([[1.0, 2.0, 3.0]])
        with pytest.raises(AssertionError, match="bytes behind a buffer of 12 were written"):
            check()


def test_guards_are_behind_every_buffer(tmp_path: Path, opencl_device: str) -> None:
    parts = copy(TensorInfo("x", (3,), "float32"))
    with guarded() as check, load(parts.write(tmp_path), device=opencl_device) as session:
        assert session.run([[1.0, 2.0, 3.0]])["y"].tolist() == [1.0, 2.0, 3.0]
        check()
