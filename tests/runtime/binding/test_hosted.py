"""Bound runs of models with operators on LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import difference
from callers_memory import bound_to_caller
from devices import Way
from graphs.hosted import crossing, searching

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime import InputError

pytestmark = pytest.mark.usefixtures("free_exchange")

SHAPE = (1, 5, 7, 11)


@pytest.mark.parametrize("names", [("COS", "MUL", "CONV_2D"), tuple(range(9))])
def test_parts_and_kernels_in_turns(names: Any, way: Way, tmp_path: Path) -> None:
    options = Options(target=way.target, device=way.profile, fallback_ops=names)
    stored = pipeline.write(pipeline.build(crossing(), options), tmp_path)
    reference, random = Reference(crossing()), np.random.default_rng(1)
    x = np.empty(SHAPE, np.float32)
    with tflgpu.load(stored, device=way.device) as session:
        made = {info.name: np.empty(info.shape, info.dtype) for info in session.outputs}
        with session.bind({"x": x}, made) as bound:
            for _ in range(2):
                x[:] = random.standard_normal(SHAPE)
                found = bound.submit().wait()
                for result, expected in zip(found.values(), reference.run([x]), strict=True):
                    assert not difference(result, expected)
        frames = [random.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
        for frame, found in zip(frames, session.stream(frames), strict=True):
            for result, expected in zip(found.values(), reference.run([frame]), strict=True):
                assert not difference(result, expected)
        # What kernels compute, and read, may also be memory of a caller.
        with bound_to_caller(session, {"x": x}, session.run(x)):
            pass


def test_what_is_on_the_host_is_bound_to_arrays_only(way: Way, tmp_path: Path) -> None:
    everything = Options(target=way.target, device=way.profile, fallback_ops=tuple(range(9)))
    stored = pipeline.write(pipeline.build(crossing(), everything), tmp_path)
    x = np.zeros(SHAPE, np.float32)
    with tflgpu.load(stored, device=way.device) as session:
        buffer = Memory(session)
        with pytest.raises(InputError, match="input x: operators on the host read it; bind an arr"):
            session.bind({"x": buffer})
        with pytest.raises(InputError, match="output y: it is computed on the host; bind an array"):
            session.bind({"x": x}, {"y": buffer})


class Memory:
    """A stand-in for a buffer of the device, which is refused before it is used."""

    def __init__(self, session: tflgpu.Session) -> None:
        self.int_ptr = self.glo = self.size = 1


Memory.__module__ = "pyopencl"
Memory.__name__ = "Buffer"


def test_outputs_of_unknown_shapes_are_refused(way: Way, tmp_path: Path) -> None:
    program = pipeline.build(searching(), Options(target=way.target, device=way.profile))
    x, k = np.zeros((5, 13), np.float32), np.int32(3)
    message = "y has a shape that only a run determines, and cannot be bound; use Session.run"
    with tflgpu.load(pipeline.write(program, tmp_path), device=way.device) as session:
        with pytest.raises(InputError, match=message):
            session.bind({"x": x, "k": np.array(k)}, {"y": np.zeros((5, 3), np.float32)})
        with pytest.raises(InputError, match=message):
            session.stream([[x, k]])
