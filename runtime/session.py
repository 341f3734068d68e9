"""A loaded model, which an application runs from any of its threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

from .cache.variant import Variant
from .errors import DeviceError, InputError
from .execution.exchange import PartTime, as_declared
from .execution.execution import Execution
from .execution.inputs import arrays_for, quantized
from .input_shapes import shapes_of, signatures_of
from .launch.device import Device, DeviceInfo, Program
from .launch.memory import Array
from .loaded_model import LoadedModel
from .plan.records import PlacedTensor, Plan, Region, TensorInfo

if TYPE_CHECKING:
    from .binding.bound import BoundRun
    from .binding.submitted import Bound
    from .custom_op import CustomOp


class Session:
    """A model that is ready to run, as `tflgpu.load` returns it.

    >>> with tflgpu.load("cache") as session:
    ...     outputs = session.run({"image": image})

    Any thread may use it; calls from several threads run one after the other. `close`, or leaving
    the `with` block, frees the device's memory.
    """

    def __init__(
        self,
        variant: Variant,
        device: Device,
        store_binaries: bool = False,
        custom_ops: Mapping[str, CustomOp] | None = None,
        programs: Sequence[Program] | None = None,
    ) -> None:
        """Load a variant onto a device, which the session then owns. Applications call `load`.

        `programs` are those of the first plan's kernels, if they have been restored. With
        `store_binaries`, compiled kernels are stored beside the plan; a CacheWarning says if they
        could not be. PlanError if the device cannot run the plan or files are damaged, DeviceError
        if a driver call fails or LiteRT is needed but not installed, BuildError if the driver
        rejects a kernel.
        """
        self._use(LoadedModel(variant, device, store_binaries, custom_ops or {}, programs))

    def _use(
        self, model: LoadedModel, signature: str | None = None, chosen: Execution | None = None
    ) -> None:
        """Run a signature, for all its choices of input shapes unless one is chosen."""
        self._model, self._signature, self._chosen = model, signature, chosen
        self._execution = chosen or model.first_of(signature)
        # The compiled model, for the first choice of input shapes.
        self.plan: Plan = self._execution.plan

    def _for(self, inputs: Any, signature: str | None = None) -> Execution:
        """The execution for the shapes of inputs (InputError)."""
        if signature is not None:
            return self._model.for_inputs(inputs, signature)
        return self._chosen or self._model.for_inputs(inputs, self._signature)

    # -- running ----------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each input, in the model's order.

        For the first choice of input shapes, as are `outputs`; see `with_shapes`.
        """
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, shape, dtype and quantization of each output, in the model's order."""
        return self.plan.outputs

    @property
    def input_shapes(self) -> tuple[Mapping[str, tuple[int, ...]], ...]:
        """The shapes of the inputs by name, for each choice that the model was compiled for.

        `run`, `bind`, `stream` and `profile` choose by the shapes of their inputs. A choice is
        loaded when it is first used; all of them share the weights on the device.
        """
        if self._chosen:
            return (shapes_of(self.inputs),)
        return tuple(self._model.choices(self._signature))

    @property
    def signatures(self) -> tuple[str, ...]:
        """The model's signatures that it was compiled for; () if for none.

        `run` takes one of them, the first by default. A signature is loaded when it is first used;
        all of them share the weights on the device.
        """
        return tuple(dict.fromkeys(filter(None, signatures_of(self._model.first.plan))))

    def with_signature(self, signature: str) -> Session:
        """This session for one of the `signatures`, with its `inputs`, `outputs` and `plan`.

        Both sessions share the device and its memory, and closing either closes both. InputError if
        there is no such signature; otherwise raises what `load` raises.
        """
        session = Session.__new__(Session)
        session._use(self._model, signature)
        return session

    def with_shapes(self, shapes: Mapping[str, Sequence[int]]) -> Session:
        """This session for one of the `input_shapes`, which also are its `inputs` and `plan`.

        `shapes` has the shapes by which the choice is known, by the names of the inputs. Both
        sessions share the device and its memory, and closing either closes both. InputError, with
        a list of the choices, unless exactly one fits; otherwise raises what `load` raises.
        """
        chosen = self._model.for_shapes(shapes, self._signature)
        session = Session.__new__(Session)
        session._use(self._model, self._signature, chosen)
        return session

    @property
    def device(self) -> DeviceInfo:
        """The device that the model runs on. DeviceError if the session is closed."""
        with self._execution as execution:
            return execution.device.info

    @overload
    def run(
        self,
        inputs: Any = (),
        *,
        quantize: bool = False,
        check: bool = False,
        outputs: None = None,
        signature: str | None = None,
    ) -> dict[str, Array]: ...

    @overload
    def run(
        self,
        inputs: Any = (),
        *,
        quantize: bool = False,
        check: bool = False,
        outputs: Mapping[str, Bound],
        signature: str | None = None,
    ) -> dict[str, Array | Bound]: ...

    def run(
        self,
        inputs: Any = (),
        *,
        quantize: bool = False,
        check: bool = False,
        outputs: Mapping[str, Bound] | None = None,
        signature: str | None = None,
    ) -> dict[str, Array] | dict[str, Array | Bound]:
        """Run the model and return its outputs by name, in the model's order.

        `signature` is one of the `signatures`, by default the session's own: that of
        `with_signature`, or else the first.

        `inputs` is a mapping of names to arrays, a list or tuple of arrays in the model's order, or
        a single array for a model with one input; a model without inputs needs none. Each array
        must have the shape of its `TensorInfo`, or together those of one of the `input_shapes`. It
        must have its dtype or one that numpy converts safely, such as float16 to float32, but not
        uint8 to float32, because pixels have to be scaled. Numbers
        and nested lists work as well if their values fit, and arrays need not be contiguous.
        Quantized inputs take integers or, with `quantize`, arrays of real numbers as well, which
        are rounded to integers by the scale and the zero point of their `TensorInfo`. Strings are
        `str` or `bytes` objects. The device computes with 32-bit integers, so the values of int64
        inputs must fit in them.

        The outputs are new arrays with the shape and dtype of their `TensorInfo`, except that
        dynamic outputs have the shape that the run determined. Quantized outputs are not
        dequantized, and strings are `bytes` objects.

        With `outputs`, results are written into objects of the caller, given by the names of the
        outputs, and these objects are returned instead of new arrays: numpy arrays or device
        memory, as `bind` takes them. For device memory, `bind` once is faster than `run` each time.

        Kernels clamp indices that are out of bounds, such as those of GATHER, where LiteRT reports
        an error. With `check`, such an index is an InputError that names the operator, the tensor
        and the index. The run then waits for the device before each operator with indices, and its
        dispatches are launched one by one; the first such run may compile kernels, as `profile`
        does.

        InputError names all inputs or outputs that do not fit. DeviceError if a driver call fails
        or the session is closed.
        """
        execution = self._for(inputs, signature)
        plan = execution.plan
        if quantize:
            inputs = quantized(plan.inputs, inputs)
        arrays = arrays_for(plan.inputs, inputs)
        if outputs is not None:
            from .binding.bound import run_into

            return run_into(execution, arrays, outputs, check)
        with execution:
            results = execution.run_checked(arrays) if check else execution.run(arrays)
        return {
            info.name: as_declared(info, result)
            for info, result in zip(plan.outputs, results, strict=True)
        }

    @overload
    def bind(self, inputs: Any = None, outputs: None = None) -> BoundRun[Array]: ...

    @overload
    def bind(self, inputs: Any, outputs: Mapping[str, Bound]) -> BoundRun[Bound]: ...

    @overload
    def bind(self, inputs: Any = None, *, outputs: Mapping[str, Bound]) -> BoundRun[Bound]: ...

    def bind(
        self, inputs: Any = None, outputs: Mapping[str, Bound] | None = None
    ) -> BoundRun[Array] | BoundRun[Bound]:
        """Check and bind the objects that runs read and write, once for many runs.

        `inputs` must have all inputs of the model, by name or in a list as `run` takes them;
        `outputs` must have those that are wanted, by name. Each is

        - a numpy array of the shape and dtype of its `TensorInfo`, or an object with the buffer
          protocol or DLPack on the host, or plain bytes (bytearray, mmap) of that size. Every run
          copies it to the device or from it, and it need not be contiguous;
        - on OpenCL a pyopencl Buffer, Array or SVM, on OpenGL a moderngl Buffer, which kernels use
          without any copy; or a pyopencl Image or a moderngl Texture, of bytes or of floats or
          integers with 32 bits, which the device copies. The model must have been loaded with
          `context=` that of the object. The elements are row-major: bytes for int8 and uint8,
          float32 for floats of 16 or 32 bits, int32 for all others. Kernels may access, and write,
          more bytes than the tensor has:
          `plan.input_buffers[i].reach` and `plan.output_buffers[i].reach`.

        If the model was compiled for several input shapes, the shapes of the inputs choose; for
        objects without a shape, bind with that of `with_shapes`. InputError names all objects that
        do not fit, and what would. DeviceError if a driver call fails or the session is closed.
        """
        from .binding.bound import BoundRun

        given = {} if inputs is None else inputs
        if outputs is None:
            return BoundRun[Array](self._for(given), given, {})
        return BoundRun(self._for(given), given, outputs)

    def stream(self, frames: Iterable[Any], depth: int = 2) -> Iterator[dict[str, Array]]:
        """Run the model on each of many frames; yields their outputs, in their order.

        A frame is what `run` takes as inputs, outputs are new arrays. Up to `depth` runs are in
        flight, each with device memory of its own, so that a frame is made and copied while the one
        before it is computed. A frame may be changed once the next one is asked for. Errors are
        those of `run`; InputError also if outputs are strings or dynamic.
        """
        from .binding.stream import stream

        return stream(self._execution, self._for, frames, depth)

    def map_input(self, name: str) -> Array:
        """The device memory of an input as an array, to be written in place of passing one.

        The array has the input's shape and the device's elements: float32, int8, uint8, or int32
        for all other integers. Bound to the input, it is not copied. It must not be written while a
        run is in flight. If the model was compiled for several input shapes, those of `with_shapes`
        have arrays too. InputError if there is no such input; DeviceError if the device does not
        share memory with the host.
        """
        from .binding.host import mapped_input

        with self._execution as execution:
            return mapped_input(execution, name)

    def profile(self, inputs: Any = ()) -> list[tuple[int, float]]:
        """Run the model one dispatch at a time, and time each on the device.

        Returns pairs of an index into `plan.dispatches`, of the plan for these inputs, and seconds:
        device time on OpenCL, and wall-clock time from launch to completion on OpenGL. `inputs` and
        errors are those of `run`.

        On devices that run persistent kernels, the first call compiles the kernels of the
        dispatches, from the sources in the plan's folder (PlanError, BuildError).
        """
        execution = self._for(inputs)
        arrays = arrays_for(execution.plan.inputs, inputs)
        with execution:
            times = execution.profile(arrays)
        return list(enumerate(times))

    def profile_parts(self, inputs: Any = ()) -> list[PartTime]:
        """Run the model, and time each of `plan.parts`, in wall-clock seconds.

        `inputs` and errors are those of `run`.
        """
        execution = self._for(inputs)
        arrays = arrays_for(execution.plan.inputs, inputs)
        with execution:
            times = execution.profile_parts(arrays)
        return times

    def reset(self) -> None:
        """Reset the model's variables to their initial content, as before the first run.

        Those of all signatures and input shapes. Does nothing for a model without variables.
        DeviceError if the session is closed.
        """
        self._model.reset()

    # -- debugging --------------------------------------------------------------------------

    def read(self, name: str) -> Array:
        """The content of a tensor after the last run, as an array of its shape and dtype.

        Intermediate tensors share memory: unless the model was compiled with
        `keep_intermediates`, the content may be that of another tensor that was written later.
        InputError if the plan has no such tensor, before the first run, and for inputs and outputs
        if the last run was one of `bind` or `stream`, whose inputs and outputs have memory of their
        own.
        """
        execution = self._chosen or self._model.of_last_run()
        tensor = _tensor(execution.plan, name)
        with execution:
            used = execution.owner.used
            if used is None or used[0] is not execution.plan:
                what = "the first run" if used is None else "a run with these input shapes"
                raise InputError(f"tensor {name} has no content before {what}")
            place = tensor.region, tensor.index
            if used[1][place] != execution.memory.buffers[place]:
                raise InputError(
                    f"tensor {name} is an input or output that was bound for the last run, which "
                    "used other memory; read the bound object, or call Session.run first"
                )
            return execution.memory.read(tensor)

    def poison(self, byte: int = 0xFF) -> None:
        """Fill the arena and the outputs with one byte value; 0xFF turns floats into NaN.

        For tests of whether kernels write everything that is read later. InputError if it is no
        byte.
        """
        if byte not in range(256):
            raise InputError(f"byte={byte!r}: give a number from 0 to 255")
        with self._execution as execution:
            execution.memory.fill((Region.ARENA, Region.OUTPUT), byte)
            execution.device.finish()

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        """Free the device's memory, once runs in flight are done.

        Closing a session again, or in a forked process, does nothing.
        """
        self._model.close()

    def __repr__(self) -> str:
        from .shown import one_line

        return one_line("Session", self._execution)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from .shown import table

        return table(self._execution, len(self.input_shapes))

    def __reduce__(self) -> NoReturn:
        raise DeviceError(
            "a session can neither be copied nor sent to another process; load the model there, too"
        )

    def __enter__(self) -> Session:
        with self._execution:
            return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tensor(plan: Plan, name: str) -> PlacedTensor:
    for tensor in plan.tensors:
        if tensor.name == name:
            return tensor
    from difflib import get_close_matches

    near = get_close_matches(str(name), [tensor.name for tensor in plan.tensors], n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise InputError(f"the plan has no tensor {name!r} in device memory{hint}")
