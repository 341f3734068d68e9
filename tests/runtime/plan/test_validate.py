"""No plan that makes no sense is accepted, and what is wrong with it is said."""

from dataclasses import replace
from typing import Any

import pytest
from plans import SIZE, chain, complete

from tflgpu.compiler.emit.facts import stated
from tflgpu.runtime.errors import PlanError
from tflgpu.runtime.plan.file import from_bytes, to_bytes
from tflgpu.runtime.plan.records import (
    Argument,
    HostPart,
    HostTensor,
    Persistent,
    PlacedTensor,
    Plan,
    Region,
)
from tflgpu.runtime.plan.running import Element
from tflgpu.runtime.plan.seal import sealed
from tflgpu.runtime.plan.storage import sliced_shape
from tflgpu.runtime.plan.validate import LARGEST_GROUP, validate


def with_part(**fields: Any) -> Plan:
    """The plan with a part on LiteRT that writes one tensor; the fields go to either."""
    tensor = HostTensor("h", (13,), "float32")
    part = HostPart("fallback/0.tflite", bytes(32), 0, (), (0,), "ABS", (0,))
    own = {
        name: fields.pop(name) for name in {"file", "before", "inputs", "outputs"} & fields.keys()
    }
    return replace(
        chain().plan, host_tensors=(replace(tensor, **fields),), parts=(replace(part, **own),)
    )


def with_persistent(*records: dict[str, Any], **fields: Any) -> Plan:
    """The chain in launches of its first kernel, one for each record; the fields go to the plan."""
    whole: dict[str, Any] = {"kernel": 0, "first": 0, "count": 3, "counters": 448, "arguments": ()}
    found = tuple(Persistent(**(whole | record)) for record in records)
    return replace(chain().plan, persistent=found, **fields)


def with_dispatch(**fields: Any) -> Plan:
    """The chain with its first dispatch changed."""
    plan = chain().plan
    return replace(plan, dispatches=(replace(plan.dispatches[0], **fields), *plan.dispatches[1:]))


def with_argument(**fields: Any) -> Plan:
    """The chain with the last argument of its first dispatch changed; it lies in the arena."""
    arguments = chain().plan.dispatches[0].arguments
    return with_dispatch(arguments=(*arguments[:2], replace(arguments[2], **fields)))


def overlapping() -> Plan:
    """The chain for WebGPU, with its second dispatch writing where it reads."""
    plan = chain(target="wgsl").plan
    first, second, third = plan.dispatches
    x, weights, y = second.arguments
    second = replace(second, arguments=(x, weights, replace(y, offset=x.offset)))
    return sealed(replace(plan, dispatches=(first, second, third)))


def with_kernel(**fields: Any) -> Plan:
    """The chain with its first kernel changed."""
    plan = chain().plan
    return replace(plan, kernels=(replace(plan.kernels[0], **fields), *plan.kernels[1:]))


def with_tensor(**fields: Any) -> Plan:
    """The chain with its tensor `sum` changed."""
    plan = chain().plan
    return replace(plan, tensors=(replace(plan.tensors[1], **fields),))


def with_input(**fields: Any) -> Plan:
    """The chain with its first input changed."""
    plan = chain().plan
    return replace(plan, inputs=(replace(plan.inputs[0], **fields), plan.inputs[1]))


INVALID = {
    "target": (replace(chain().plan, target="cuda"), "target 'cuda' is not one of opencl, glsl"),
    "fingerprint": (replace(chain().plan, fingerprint="../x"), "'../x' is not a SHA-256 digest"),
    "arena size": (
        replace(chain().plan, arena_size=1 << 50),
        "the arena has 1125899906842624 bytes",
    ),
    "arena too small": (replace(chain().plan, arena_size=64), "of the arena, which has 64"),
    "host tensor": (with_part(dtype="resource"), "host tensor h has dtype 'resource'"),
    "host place": (
        with_part(place=Argument(Region.ARENA, 0, 0, 4, True)),
        r"host tensor h of shape \[13\] does not fit in 4 bytes",
    ),
    "host output": (with_part(output=9), "host tensor h is output 9, but the plan has 1"),
    "host shape": (with_part(output=0, shape=(2,)), "h differs in shape or dtype from output y"),
    "part file": (with_part(file="../x"), "part file '../x' is not of the form fallback/NAME.tfl"),
    "part order": (with_part(before=99), "fallback/0.tflite runs before dispatch 99, out of order"),
    "part tensor": (
        with_part(inputs=(7,)),
        "fallback/0.tflite uses host tensor 7, but the plan has 1",
    ),
    "part source": (with_part(inputs=(0,)), "reads host tensor h before it has been written"),
    "part twice": (with_part(outputs=(0, 0)), "writes host tensor h, which is written elsewhere"),
    "merged kernel": (
        with_persistent({"kernel": 3}),
        "persistent kernel 0 runs kernel 3, but the plan has 3",
    ),
    "merged end": (
        with_persistent({"count": 4}),
        "persistent kernel 0 computes dispatches 0 to 3 of 3",
    ),
    "merged none": (with_persistent({"count": 0}), "computes dispatches 0 to -1 of 3"),
    "merged twice": (
        with_persistent({"count": 2}, {"first": 1, "count": 2}),
        "persistent kernel 1 computes dispatches 1 to 2 of 3",
    ),
    "merged group": (
        sealed(with_persistent({}, kernels=with_kernel(group=(13, 1, 1)).kernels)),
        r"persistent kernel 0 has work-groups of \[13, 1, 1\]",
    ),
    "merged part": (
        with_persistent({}, parts=with_part(before=1).parts, host_tensors=with_part().host_tensors),
        "persistent kernel 0 computes dispatches before and after a part on LiteRT",
    ),
    "merged counters": (with_persistent({"counters": 0}), "kernel 0 has 0 bytes of counters"),
    "merged memory": (with_persistent({"counters": 1025}), "has 1025 bytes of counters"),
    "merged arguments": (
        with_persistent({"arguments": (Argument(Region.ARENA, 0, 0, 4, True),) * 128}),
        "persistent kernel 0 has 128 arguments",
    ),
    "merged region": (
        with_persistent({"arguments": (Argument(Region.INPUT, 0, 0, 4, True),)}),
        "persistent kernel 0: argument 0 writes to input 0",
    ),
    "merged span": (
        with_persistent({"arguments": (Argument(Region.ARENA, 0, 0, 1 << 20, True),)}),
        "persistent kernel 0: argument 0 covers bytes 0 to 1048576 of the arena",
    ),
    "type": (with_input(dtype="float31"), "input a has dtype 'float31'"),
    "shape": (with_input(shape=(1 << 20, 1 << 20)), "takes more than 1099511627776 bytes"),
    "rank": (with_input(shape=(1,) * 33), r"input a has shape \[1, 1"),
    "scale": (with_input(scale=float("nan")), "input a has scale nan"),
    "twice": (with_input(name="b"), "there are two inputs named 'b'"),
    "no kernel": (
        with_dispatch(kernel=3),
        r"dispatch 0 \(ADD -> sum\) runs kernel 3, but the plan has 3",
    ),
    "grid 0": (with_dispatch(grid=(0, 1, 1)), r"grid \[0, 1, 1\] for work-groups of \[1, 1, 1\]"),
    "grid volume": (with_dispatch(grid=(1 << 30, 1 << 30, 1)), "more than 68719476736 work-items"),
    "grid size": (with_dispatch(grid=(1 << 31, 1, 1)), "grid"),
    "grid multiple": (with_kernel(group=(2, 1, 1)), r"grid \[13, 1, 1\] for work-groups of \[2"),
    "group 0": (with_kernel(group=(0, 1, 1)), r"the work-group is \[0, 1, 1\]"),
    "group size": (with_kernel(group=(LARGEST_GROUP, 2, 1)), "work-group is"),
    "entry": (with_kernel(name="a b"), "'a b' cannot be the name of an entry point"),
    "up": (with_kernel(file="kernels/../../x.cl"), "is not of the form kernels/NAME.cl"),
    "absolute": (with_kernel(file="/kernels/x.cl"), "is not of the form"),
    "hidden": (with_kernel(file="kernels/.x.cl"), "is not of the form"),
    "line": (with_kernel(file="kernels/x.cl\n"), "is not of the form"),
    "suffix": (with_kernel(file="kernels/x.comp"), "is not of the form"),
    "same file": (
        with_kernel(file="kernels/001_scale.cl"),
        "there are two kernels in 'kernels/001_scale.cl'",
    ),
    "no output": (with_argument(region=Region.OUTPUT, index=1), "output 1, which does not exist"),
    "no arena": (with_argument(index=1), "lies in arena 1, which does not exist"),
    "negative": (with_argument(index=-1), "does not exist"),
    "past the end": (with_argument(offset=513), "covers bytes 513 to 565 of the arena, which has"),
    "before": (with_argument(offset=-4), "covers bytes -4 to 48"),
    "to input": (with_argument(region=Region.INPUT, offset=0), "writes to input 0"),
    "to weights": (with_argument(region=Region.WEIGHTS), "writes to the weights"),
    "texel": (with_argument(writes=False, texel=4), "argument 2 reads texels of 4 bytes"),
    "written texel": (with_argument(texel=16), "argument 2 writes texels of 16 bytes"),
    "part of a texel": (
        with_argument(writes=False, texel=16),
        "has 52 bytes, not a multiple of its texels' 16",
    ),
    "arguments": (with_dispatch(arguments=chain().plan.dispatches[0].arguments * 50), "150 arg"),
    "arguments that overlap": (
        overlapping(),
        "arguments of kernels/001_scale.wgsl overlap, which WebGPU does not allow",
    ),
    "tensor size": (with_tensor(size=SIZE - 1), "does not fit in 51 bytes"),
    "tensor life": (with_tensor(last=4), "is used from dispatch 0 to 4, but the plan has 3"),
    "tensor slices": (
        with_tensor(shape=(13, 1, 1, 1, 1), lanes=4),
        "of rank 5 is stored in slices of 4",
    ),
    "tensor lanes": (with_tensor(lanes=65), "stored in slices of 65"),
    "tensor stored": (with_tensor(lanes=4, stored="int4"), "is stored as 'int4'"),
    "tensor stored row-major": (with_tensor(stored="uint8", size=3), "in 3 bytes"),
    "tensor stored size": (with_tensor(lanes=4, stored="uint8", size=15), "in 15 bytes"),
    "tensor type": (with_tensor(dtype="text"), "tensor sum has dtype 'text'"),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_breaks_a_limit_is_refused(case: str) -> None:
    plan, message = INVALID[case]
    with pytest.raises(PlanError, match=message) as caught:
        validate(plan, "x/plan.tflgpu")
    assert str(caught.value).startswith("x/plan.tflgpu is not valid; compile the model again:\n")


def test_limits_checked_when_read() -> None:
    with pytest.raises(PlanError, match="covers bytes 513 to 565"):
        from_bytes(to_bytes(with_argument(offset=513)))


def test_problems_are_collected() -> None:
    plan = replace(chain().plan, target="cuda", fingerprint="", arena_size=1 << 50)
    with pytest.raises(PlanError) as caught:
        validate(plan)
    assert len(str(caught.value).splitlines()) == 4


def test_digests_have_32_bytes() -> None:
    with pytest.raises(PlanError, match="a digest has 1 bytes instead of 32"):
        to_bytes(replace(chain().plan, weights_sha256=b"1"))


PLAN, MERGED = chain().plan, complete()

# What a plan states beside its dispatches, and does not follow from them.
DECLARED = {
    "needs": (
        replace(PLAN, needs=replace(PLAN.needs, alignment=1)),
        "needs.alignment must be 512, not 1",
    ),
    "argument": (with_argument(whole=True), "how arguments of kernels/000_add.cl lie must be"),
    "buffers": (
        replace(PLAN, input_buffers=PLAN.input_buffers[1:]),
        "there are 1 input buffers for 2 inputs",
    ),
    "element": (
        replace(PLAN, output_buffers=(replace(PLAN.output_buffers[0], element=Element.INT8),)),
        "output_buffers must be .*FLOAT32",
    ),
    "reach": (
        replace(PLAN, output_buffers=(replace(PLAN.output_buffers[0], reach=1 << 41),)),
        "the buffer of output 0 has 2199023255552 bytes",
    ),
    "variable": (
        replace(MERGED, variables=(replace(MERGED.variables[0], reach=8), MERGED.variables[1])),
        "the reach of variable zeros must be 12, not 8",
    ),
    "schedules": (replace(PLAN, schedules=()), "there are 0 schedules for 0 persistent kernels"),
    "submissions": (
        replace(PLAN, schedules=(replace(PLAN.schedules[0], submissions=()),)),
        r"what schedule 0 submits must be \[\(0, -1\), \(1, -1\), \(2, -1\)\], not \[\]",
    ),
    "kernels": (
        replace(MERGED, schedules=(MERGED.schedules[0], MERGED.schedules[0])),
        "the kernels of schedule 1 must be",
    ),
}


@pytest.mark.parametrize("case", DECLARED)
def test_what_follows_from_dispatches_is_compared(case: str) -> None:
    plan, message = DECLARED[case]
    with pytest.raises(PlanError, match=message):
        validate(plan)


def test_a_sliced_shape_has_slices_and_lanes() -> None:
    tensor = PlacedTensor("t", (5, 7, 11), "float32", 4, Region.ARENA, 0, 0, 5 * 7 * 48, 0, 1)
    assert sliced_shape(tensor) == (1, 3, 5, 7, 4)
    assert sliced_shape(replace(tensor, shape=())) == (1, 1, 1, 1, 4)


def test_persistent_kernels_survive() -> None:
    argument = Argument(Region.ARENA, 0, 4, 8, True)
    plan = sealed(stated(with_persistent({"first": 1, "count": 2, "arguments": (argument,)})))
    validate(plan)
    assert from_bytes(to_bytes(plan)) == plan


def test_parts_on_litert_survive() -> None:
    plan = stated(with_part(place=Argument(Region.ARENA, 0, 0, 4 * 13, True), dynamic=False))
    assert from_bytes(to_bytes(plan)) == plan
