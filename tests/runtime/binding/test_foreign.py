"""Memory and contexts of pyopencl and moderngl: what can be bound, and what is refused."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from devices import need_programs, unavailable
from graphs.operators import file_of
from plans import LENGTH, SIZE, chain, chain_result, pair

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.options import TargetName
from tflgpu.runtime import DeviceError, InputError, load
from tflgpu.runtime.opencl import library, memory

# Without its hints, which are wrong about create_context.
moderngl: Any = importlib.import_module("moderngl")
FLAGS = cl.mem_flags


@dataclass(frozen=True)
class Caller:
    """A context and a queue of an application."""

    context: Any
    queue: Any

    def buffer(self, content: Any, flags: int = FLAGS.READ_WRITE) -> Any:
        return cl.Buffer(self.context, flags | FLAGS.COPY_HOST_PTR, hostbuf=content)

    def read(self, buffer: Any, length: int = LENGTH) -> Any:
        found = np.empty(length, np.float32)
        cl.enqueue_copy(self.queue, found, buffer)
        return found


@pytest.fixture
def caller(opencl_device: str) -> Caller:
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if " ".join(platform.version.split()) in opencl_device:
                context = cl.Context([device])
                return Caller(context, cl.CommandQueue(context))
    unavailable(f"pyopencl does not find {opencl_device}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return chain().write(tmp_path)


def check(found: Any, inputs: Any) -> None:
    np.testing.assert_allclose(found, chain_result(*inputs), rtol=1e-5, atol=1e-5)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The driver's functions that copy or map, which were called through this runtime."""
    called: list[str] = []
    original = library.call
    words = ("Read", "Write", "Map", "Copy")

    def call(function: str, *arguments: Any) -> None:
        if any(word in function for word in words):
            called.append(function)
        original(function, *arguments)

    def move(*arguments: Any) -> None:
        called.append("memmove")

    monkeypatch.setattr(memory, "call", call)
    monkeypatch.setattr(memory, "memmove", move)
    return called


@pytest.mark.parametrize("given", ["context", "queue"])
def test_opencl_memory_is_not_copied(
    caller: Caller, folder: Path, copies: list[str], given: str
) -> None:
    inputs = pair(1)
    a = cl_array.to_device(caller.queue, inputs[0])
    b = caller.buffer(inputs[1], FLAGS.READ_ONLY)
    shared = cl.svm_empty(caller.context, cl.svm_mem_flags.READ_WRITE, LENGTH, np.float32)
    made = [cl_array.zeros(caller.queue, LENGTH, np.float32), caller.buffer(np.zeros(LENGTH, "f4"))]
    caller.queue.finish()
    with load(folder, context=getattr(caller, given)) as session:
        for y in (*made, cl.SVM(shared)):
            with session.bind({"a": a, "b": b}, {"y": y}) as bound:
                assert bound.run()["y"] is y
                bound.submit().wait()
        assert copies == []
        check(made[0].get(), inputs)
        check(caller.read(made[1]), inputs)
        check(shared, inputs)
        made[0].fill(0)
        caller.queue.finish()
        session.run(inputs, outputs={"y": made[0]})
        check(made[0].get(), inputs)


def test_an_event_orders_work_of_the_caller(caller: Caller, folder: Path) -> None:
    inputs = pair(2)
    y, found = caller.buffer(np.zeros(LENGTH, np.float32)), np.empty(LENGTH, np.float32)
    with load(folder, context=caller.context) as session:
        a, b = inputs
        run = session.bind({"a": a, "b": b}, {"y": y}).submit()
        cl.enqueue_copy(caller.queue, found, y, wait_for=[run.event])
        check(found, inputs)


def test_bound_memory_is_kept(caller: Caller, folder: Path) -> None:
    (a, b), y = pair(3), caller.buffer(np.zeros(LENGTH, np.float32))
    handle = y.int_ptr

    def references() -> int:
        count: int = cl.Buffer.from_int_ptr(handle).get_info(cl.mem_info.REFERENCE_COUNT)
        return count

    before = references()
    with load(folder, context=caller.context) as session:
        bound = session.bind({"a": a, "b": b}, {"y": y})
        assert references() > before
        del y
        bound.run()
        check(caller.read(bound.outputs["y"]), (a, b))
        bound.close()
        assert references() == before


def test_memory_that_does_not_fit(caller: Caller, folder: Path) -> None:
    queue, context = caller.queue, caller.context
    long = cl_array.zeros(queue, 2 * LENGTH, np.float32)
    other = cl.Context(context.devices)
    cases: list[tuple[Any, str]] = [
        (cl.Buffer(context, FLAGS.READ_WRITE, SIZE - 4), "it has 48 bytes, but kernels access 52"),
        (long, "its shape is [26], but that of the tensor is [13]"),
        (long[::2], "its elements are not contiguous in the order of C"),
        (long[LENGTH:], "it starts at byte 52 of a buffer; give it a buffer of its own"),
        (cl_array.zeros(queue, LENGTH, np.float64), "its elements are float64, but those on the"),
        (cl.Buffer(context, FLAGS.READ_ONLY, SIZE), "kernels must not write the pyopencl.Buffer"),
        (cl.Buffer(context, FLAGS.WRITE_ONLY, SIZE), "kernels must not read the pyopencl.Buffer"),
        (cl.Buffer(other, FLAGS.READ_WRITE, SIZE), "belongs to another OpenCL context; load the"),
    ]
    a, b = pair()
    with load(folder, context=context) as session:
        for y, message in cases:
            with pytest.raises(InputError) as caught:
                session.bind({"a": a, "b": b}, {"y": y})
            assert message in str(caught.value).partition("output y: ")[2]
        unreadable = cl.Buffer(context, FLAGS.WRITE_ONLY, SIZE)
        with pytest.raises(InputError, match=r"input a: kernels must not read the pyopencl\.Buff"):
            session.bind({"a": unreadable, "b": b})
        with pytest.raises(
            InputError, match=r"a: a pyopencl\.Buffer is memory of a device; bind it"
        ):
            session.run({"a": unreadable, "b": b})
        check(session.run([a, b])["y"], (a, b))


def test_contexts_that_do_not_fit(caller: Caller, folder: Path) -> None:
    properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    cases: list[tuple[Any, str]] = [
        (cl.CommandQueue(caller.context, properties=properties), "runs commands out of order"),
        (7, r"context=7: give a pyopencl\.Context, a pyopencl\.CommandQueue, a moderngl\.Context"),
    ]
    for context, message in cases:
        with pytest.raises(DeviceError, match=message):
            load(folder, context=context)
    with pytest.raises(DeviceError, match="no OpenCL device has 'absent' in its name"):
        load(folder, context=caller.context, device="absent")
    glsl = chain("cd" * 32, target="glsl").write(folder.parents[1])
    with pytest.raises(DeviceError, match="needs a model compiled for opencl, but the model was "):
        load(glsl, context=caller.context)


# -- OpenGL -----------------------------------------------------------------------------------


@pytest.fixture
def context(opengl_device: str) -> Iterator[Any]:
    made = moderngl.create_context(standalone=True, backend="egl", require=430)
    yield made
    made.release()


@pytest.fixture
def opengl_folder(tmp_path: Path) -> Path:
    return chain(target="glsl").write(tmp_path)


def test_opengl_buffers_are_not_copied(
    context: Any, opengl_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = pair(1)
    a, b = (context.buffer(array.tobytes()) for array in inputs)
    y = context.buffer(reserve=SIZE)
    copied: list[str] = []
    for method in ("read", "read_into", "write"):
        original = getattr(moderngl.Buffer, method)
        monkeypatch.setattr(moderngl.Buffer, method, counting(copied, method, original))
    with load(opengl_folder, context=context) as session:
        copied.clear()
        with session.bind({"a": a, "b": b}, {"y": y}) as bound:
            assert bound.run()["y"] is y
            bound.submit().wait()
        assert copied == []
        assert session.device.version.startswith("OpenGL 4")
        check(np.frombuffer(y.read(), np.float32), inputs)
        check(session.run(inputs)["y"], inputs)
    # The context of the caller is still current, and its buffers are as before.
    check(np.frombuffer(y.read(), np.float32), inputs)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_textures_of_opengl_are_copied_on_the_device(
    context: Any, tmp_path: Path, channels: int
) -> None:
    """The device copies them: to a buffer before the kernels, or from one after them."""
    shape = (1, 5, 7, channels)
    content = file_of(Op("ABS", (Tensor("x", shape),), (Tensor("y", shape),)))
    compiled = pipeline.build(content, Options(target="glsl", device="gles31"))
    image = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    texture = context.texture((7, 5), channels, image.tobytes(), dtype="f4")
    result = context.texture((7, 5), channels, dtype="f4")
    with (
        load(pipeline.write(compiled, tmp_path), context=context) as session,
        session.bind({"x": texture}, {"y": result}) as bound,
    ):
        bound.run()
        found = np.frombuffer(result.read(), np.float32).reshape(shape)
        np.testing.assert_array_equal(found, np.abs(image))
        texture.write((2 * image).tobytes())
        bound.submit().wait()
        found = np.frombuffer(result.read(), np.float32).reshape(shape)
        np.testing.assert_array_equal(found, np.abs(2 * image))


def inverted(shape: tuple[int, ...], target: TargetName) -> CompiledModel:
    """A model that takes and returns pictures of bytes, and takes each byte from 255."""
    content = file_of(Op("NEG", (Tensor("x", shape),), (Tensor("y", shape),)))
    kind = {1: "gray8", 4: "rgba8"}[shape[-1]]
    device = "gles31" if target == "glsl" else "cpu"
    inputs, outputs = (("x", kind),), (("y", f"{kind}, mean=255"),)
    options = Options(target=target, device=device, inputs=inputs, outputs=outputs)
    return pipeline.build(content, options)


@pytest.mark.parametrize("channels", [1, 4])
def test_opengl_textures_of_bytes(context: Any, tmp_path: Path, channels: int) -> None:
    """As cameras and renderers have them."""
    shape = (1, 5, 7, channels)
    folder = pipeline.write(inverted(shape, "glsl"), tmp_path)
    pixels = np.random.default_rng(7).integers(0, 256, shape, np.uint8)
    texture = context.texture((7, 5), channels, pixels.tobytes(), alignment=1)
    result = context.texture((7, 5), channels, alignment=1)
    with (
        load(folder, context=context) as session,
        session.bind({"x": texture}, {"y": result}) as bound,
    ):
        bound.run()
        found = np.frombuffer(result.read(alignment=1), np.uint8).reshape(shape)
        np.testing.assert_array_equal(found, 255 - pixels)


@pytest.mark.parametrize("channels", [1, 4])
def test_opencl_images_of_bytes(
    caller: Caller, copies: list[str], tmp_path: Path, channels: int
) -> None:
    shape = (1, 5, 7, channels)
    pixels = np.random.default_rng(7).integers(0, 256, shape, np.uint8)
    order = {1: cl.channel_order.R, 4: cl.channel_order.RGBA}[channels]
    form = cl.ImageFormat(order, cl.channel_type.UNORM_INT8)
    image, result = (
        cl.create_image(caller.context, FLAGS.READ_WRITE, form, (7, 5)) for _ in range(2)
    )
    corner = {"origin": (0, 0), "region": (7, 5)}
    cl.enqueue_copy(caller.queue, image, pixels, **corner)
    caller.queue.finish()
    folder = pipeline.write(inverted(shape, "opencl"), tmp_path)
    with (
        load(folder, context=caller.context) as session,
        session.bind({"x": image}, {"y": result}) as bound,
    ):
        copies.clear()
        bound.run()
        assert copies == []
        found = np.zeros_like(pixels)
        cl.enqueue_copy(caller.queue, found, result, **corner)
        np.testing.assert_array_equal(found, 255 - pixels)
        small = cl.create_image(caller.context, FLAGS.READ_WRITE, form, (5, 5))
        with pytest.raises(InputError, match=r"its shape is \[5, 5, .\], but that of the"):
            session.bind({"x": small})
        floats = cl.ImageFormat(order, cl.channel_type.FLOAT)
        wrong = cl.create_image(caller.context, FLAGS.READ_WRITE, floats, (7, 5))
        with pytest.raises(InputError, match="its elements are float32, but those on the device"):
            session.bind({"x": wrong})


def test_a_run_waits_for_events(caller: Caller, folder: Path) -> None:
    """Of another queue, such as that of the commands that write its inputs."""
    (a, b), late = pair(), pair(5)[0]
    x = caller.buffer(a)
    y = np.zeros(LENGTH, np.float32)
    gate = cl.UserEvent(caller.context)
    with (
        load(folder, context=caller.context) as session,
        session.bind({"a": x, "b": b}, {"y": y}) as bound,
    ):
        written = cl.enqueue_copy(caller.queue, x, late, is_blocking=False, wait_for=[gate])
        run = bound.submit(wait_for=[written])
        assert not run.done
        gate.set_status(cl.command_execution_status.COMPLETE)
        run.wait()
        check(y, (late, b))
        with pytest.raises(InputError, match=r"wait_for=5: give a sequence of events"):
            bound.submit(wait_for=5)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="wait_for has a int; on OpenCL, give events of py"):
            bound.submit(wait_for=[5])


def test_a_run_waits_for_fences(opengl_folder: Path, opengl_device: str) -> None:
    a, b = pair()
    y = np.zeros(LENGTH, np.float32)
    with (
        load(opengl_folder, device=opengl_device) as session,
        session.bind({"a": a, "b": b}) as first,
        session.bind({"a": a, "b": b}, {"y": y}) as bound,
    ):
        before = first.submit()
        bound.submit(wait_for=[before.event]).wait()
        check(y, (a, b))
        with pytest.raises(InputError, match="on OpenGL, give each GLsync as a number"):
            bound.submit(wait_for=[5])


def counting(copied: list[str], method: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def count(*arguments: Any) -> Any:
        copied.append(method)
        return original(*arguments)

    return count


def test_opengl_contexts_are_left_as_they_were(
    context: Any, opengl_folder: Path, webgpu_device: str
) -> None:
    """Though another context than that of the session is current, and WebGPU makes its own."""
    with load(opengl_folder, context=context) as session:
        other = moderngl.create_context(standalone=True, backend="egl", require=430)
        probe = other.buffer(reserve=16)
        check(session.run(pair())["y"], pair())
        webgpu = importlib.import_module("tflgpu.runtime.webgpu.find")
        webgpu.present.cache_clear()
        assert webgpu.present()
        probe.write(bytes(range(16)))
        assert probe.read() == bytes(range(16))
        other.release()


def test_opengl_memory_that_does_not_fit(
    context: Any, opengl_folder: Path, tmp_path: Path, opencl_device: str
) -> None:
    a, b = pair()
    small, other = context.buffer(reserve=SIZE - 4), context.buffer(a.tobytes())
    with load(opengl_folder, context=context) as session:
        with pytest.raises(InputError, match=r"input a: .* has 48 bytes, but kernels access 52"):
            session.bind({"a": small, "b": b})
        with pytest.raises(InputError, match=r"a moderngl\.Sampler cannot be bound; bind a mod"):
            session.bind({"a": context.sampler(), "b": b})
        for size, channels, dtype, message in (
            ((13, 1), 1, "f1", "its elements are uint8, but those on the device are float32"),
            ((13, 1), 1, "f2", "its elements are f2 as moderngl calls them, but those"),
            ((12, 1), 1, "f4", r"its shape is \[1, 12, 1\], but that of the tensor is \[13\]"),
            ((13, 1), 1, "f4", r"its shape is \[1, 13, 1\], but that of the tensor is \[13\]"),
        ):
            texture = context.texture(size, channels, dtype=dtype)
            with pytest.raises(InputError, match=message):
                session.bind({"a": texture, "b": b})
    with (
        load(opengl_folder) as session,
        pytest.raises(InputError, match="belongs to another OpenGL context; load the model with"),
    ):
        session.bind({"a": other, "b": b})
    with (
        load(chain("cd" * 32).write(tmp_path), device=opencl_device) as session,
        pytest.raises(InputError, match=r"cannot be bound to a model on OpenCL: .*gl_sharing;"),
    ):
        session.bind({"a": other, "b": b})


def test_a_context_without_compute_shaders(opengl_folder: Path, opengl_device: str) -> None:
    old = moderngl.create_context(standalone=True, backend="egl", require=330)
    if old.version_code >= 430:
        # Drivers return the newest version that has everything of the one asked for.
        old.release()
        return
    with pytest.raises(DeviceError, match=r"OpenGL 4\.3 is needed; create it with require=430"):
        load(opengl_folder, context=old)


def test_what_moderngl_has_released(context: Any, opengl_folder: Path) -> None:
    inputs = pair()
    a = context.buffer(inputs[0].tobytes())
    texture = context.texture((13, 1), 1, dtype="f4")
    mine = moderngl.create_context(standalone=True, backend="egl", require=430)
    lost = load(opengl_folder, context=mine)
    mine.release()
    for call in (lambda: lost.run(inputs), lambda: load(opengl_folder, context=mine)):
        with pytest.raises(DeviceError, match=r"the moderngl\.Context .* released"):
            call()
    with load(opengl_folder, context=context) as session:
        bound = session.bind({"a": a, "b": inputs[1]})
        a.release()
        texture.release()
        with pytest.raises(DeviceError, match="was released while it was bound; bind another"):
            bound.run()
        for released in (a, texture):
            with pytest.raises(InputError, match=r"input a: the moderngl\.\w+ has been released"):
                session.bind({"a": released, "b": inputs[1]})
        check(session.run(inputs)["y"], inputs)


# A context that EGL does not know: alone, with another in its place, current again, released.
WINDOW = """
import sys
import moderngl
from plans import chain_result, pair
from tflgpu.runtime import DeviceError, devices, load

window = moderngl.create_context(require=430, standalone=True)
assert devices()
try:
    load(sys.argv[1])
except DeviceError as error:
    print(error)
with load(sys.argv[1], context=window) as session:
    assert abs(session.run(pair())["y"] - chain_result(*pair())).max() < 1e-5
    another = moderngl.create_context(require=430, standalone=True)
    for change in (list, window.__enter__, window.release):
        change()
        try:
            session.run(pair())
            print("runs")
        except DeviceError as error:
            print(error)
"""


def test_contexts_of_windows(opengl_folder: Path, opengl_device: str) -> None:
    need_programs("Xvfb")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-nolisten", "tcp"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        ran = subprocess.run(
            [sys.executable, "-c", WINDOW, str(opengl_folder)],
            env={**os.environ, "DISPLAY": f":{server.stdout.readline().strip()}"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.kill()
        server.communicate()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.partition(",")[0] for line in ran.stdout.splitlines()] == [
        "a context of GLX",
        "the model was compiled for glsl",
        "the moderngl.Context is not current on this thread",
        "runs",
        "the moderngl.Context in which the model was loaded was released",
    ]
