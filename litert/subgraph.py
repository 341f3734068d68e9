"""A subgraph as LiteRT's interface uses it: tensors by index, resized, allocated, set and run."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from ..compiler.ir import Array, Shape
from ..runtime import Session, TflgpuError
from .details import TYPES, tensor_details
from .file import File
from .variants import Variants

_NOT_READY = "Invoke called on model that is not ready."
_NO_DATA = "Tensor data is null. Run allocate_tensors() first"
_UNALLOCATED = "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
_HELD = (
    "There is at least 1 reference to internal data in the interpreter in the form of a numpy "
    "array or slice. Be sure to only hold the function returned from tensor() if you are using raw "
    "data access."
)


class _Lent:
    """An array that the caller may write to; it lives as long as any view of it."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


class Subgraph:
    """One subgraph of a file, with a session while its tensors are allocated."""

    def __init__(
        self,
        file: File,
        index: int,
        input_names: Mapping[int, str],
        variants: Variants,
        preserved: Sequence[int] = (),
    ) -> None:
        """`input_names` are the names that the compiler gives to the inputs, by index.

        The sessions give the tensors in `preserved` after the subgraph's outputs.
        """
        self._file = file
        self._first = index == 0
        self._content = file.subgraph(index)
        self._input_names = input_names
        self._variants = variants
        self._results = (*self._content.outputs, *preserved)
        # The shapes of the inputs, as resized last.
        self._sizes = {i: self._content.tensors[i].shape for i in self._content.inputs}
        self._session: Session | None = None
        # The shapes of all tensors since they were allocated, by the compiler's names.
        self._allocated: Mapping[str, Shape] | None = None
        self._inputs: dict[int, Array] = {}
        self._outputs: dict[int, Array] = {}
        self._feed: list[Array] = []  # The input arrays, in order.
        self._lent: WeakSet[_Lent] = WeakSet()

    @property
    def inputs(self) -> tuple[int, ...]:
        return self._content.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        return self._content.outputs

    @property
    def on_device(self) -> bool:
        """Whether nothing of it runs on LiteRT, once tensors are allocated."""
        return self._session is not None and not self._session.plan.parts

    def __len__(self) -> int:
        return len(self._content.tensors)

    # -- details ----------------------------------------------------------------------------

    def details(self, index: int) -> dict[str, Any]:
        """LiteRT's dictionary about a tensor (ValueError if it has none)."""
        tensor = self._content.tensors[self._checked(index)]
        if tensor.dtype not in TYPES:
            raise ValueError("Could not get tensor details")
        scales = self._file.block_scales(self._content, tensor)
        shape = self._shape(index)
        widened = self._session is not None and self._first and index in self._file.widened
        return tensor_details(tensor, int(index), shape, scales, shape[0] if widened else 1)

    def _shape(self, index: int) -> Shape:
        array = self._array(index)
        if array is not None:
            return array.shape
        if index in self._sizes:
            return self._sizes[index]
        if self._session is not None:
            if self._allocated is None:
                self._allocated = self._variants.shapes(self._resized())
            name = self._content.names[index]
            if name in self._allocated:
                return self._allocated[name]
        return self._content.tensors[index].shape

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise ValueError(f"Invalid tensor index {index} exceeds max tensor index {len(self)}")
        return index

    # -- shapes -----------------------------------------------------------------------------

    def resize(self, index: int, shape: Shape, strict: bool) -> None:
        """Give an input another shape (RuntimeError); tensors must then be allocated again.

        Other tensors keep their shapes, which follow from those of the inputs.
        """
        self.check_unlent()
        try:
            self._checked(index)
        except ValueError as error:
            raise RuntimeError(str(error)) from error
        if strict:
            self._check_open(index, shape)
        if min(shape, default=1) < 0:
            raise RuntimeError(f"tensor {index} cannot have the shape {list(shape)}")
        if index in self._sizes and shape != self._sizes[index]:
            self._sizes[index] = shape
            self._session = self._allocated = None
            self._inputs, self._outputs = {}, {}

    def _check_open(self, index: int, shape: Shape) -> None:
        """RuntimeError unless only those sizes change that the file leaves open."""
        signature = self._content.tensors[index].shape_signature or self._shape(index)
        pairs = zip(signature, shape, strict=False)
        changes = [
            f"dimension {axis} of tensor {index} with value {size} to {wanted}"
            for axis, (size, wanted) in enumerate(pairs)
            if size not in (-1, wanted)
        ]
        if len(signature) != len(shape):
            changes = [f"tensor {index} from {len(signature)} to {len(shape)} dimensions"]
        if changes:
            raise RuntimeError(
                f"Attempting to resize {changes[0]}. ResizeInputTensorStrict only allows mutating "
                "unknown dimensions identified by -1."
            )

    def _resized(self) -> dict[str, Shape]:
        """The input shapes that differ from the file's, by name."""
        return {
            self._input_names[index]: shape
            for index, shape in self._sizes.items()
            if shape != self._content.tensors[index].shape
        }

    def allocate(self) -> None:
        """Compile and load the model for the shapes of the inputs, unless that has been done.

        Inputs then hold zeros. RuntimeError if the model cannot be compiled or loaded.
        """
        self.check_unlent()
        if self._session is not None:
            return
        try:
            session = self._variants.session(self._resized())
        except TflgpuError as error:
            raise RuntimeError(str(error)) from error
        for infos, numbers, arrays in (
            (session.inputs, self._content.inputs, self._inputs),
            (session.outputs, self._results, self._outputs),
        ):
            for info, index in zip(infos, numbers, strict=True):
                text = info.dtype == "string"
                arrays[index] = (
                    np.full(info.shape, b"", object) if text else np.zeros(info.shape, info.dtype)
                )
        self._session = session
        self._feed = [self._inputs[index] for index in self._content.inputs]

    # -- content ----------------------------------------------------------------------------

    def set(self, index: int, value: Any) -> None:
        """Copy a value into a tensor (ValueError if it does not have its type and shape)."""
        array = self._inputs.get(index)
        if (
            array is None
            or type(value) is not np.ndarray
            or value.dtype != array.dtype
            or value.shape != array.shape
        ):
            array, value = self._fitting(self._checked(index), value)
        array[...] = value

    def _fitting(self, index: int, value: Any) -> tuple[Array, Array]:
        """The array of a tensor, and a value that can be copied into it (ValueError)."""
        given = np.asarray(value)
        tensor = self._content.tensors[index]
        text = given.dtype.kind in "SUO"
        if not (text if tensor.dtype == "string" else given.dtype == TYPES.get(tensor.dtype)):
            raise ValueError(
                "Cannot set tensor: Got value of type "
                f"{'STRING' if text else given.dtype.name.upper()} but expected type "
                f"{tensor.dtype.upper()} for input {index}, name: {tensor.name} "
            )
        array = self._array(index)
        if array is None:
            raise ValueError(_UNALLOCATED)
        if given.ndim != array.ndim:
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {given.ndim} but expected "
                f"{array.ndim} for input {index}."
            )
        for axis, (got, expected) in enumerate(zip(given.shape, array.shape, strict=True)):
            if got != expected:
                raise ValueError(
                    f"Cannot set tensor: Dimension mismatch. Got {got} but expected {expected} "
                    f"for dimension {axis} of input {index}."
                )
        return array, given

    def get(self, index: int) -> Array:
        """A copy of a tensor's content (ValueError if it has none)."""
        array = self._array(index)
        if array is None:
            array = self._file.constant(self._content.tensors[self._checked(index)])
        if array is None:
            raise ValueError(_NO_DATA)
        return array.copy()

    def view(self, index: int) -> Array:
        """A tensor's own memory, which must not be held while the model runs (ValueError)."""
        array = self._array(index)
        if array is None or array.dtype == object:
            return self.get(index)
        lent = _Lent(array)
        self._lent.add(lent)
        return np.asarray(lent)

    def _array(self, index: int) -> Array | None:
        """The content of an input or result, if tensors are allocated."""
        array = self._inputs.get(index)
        return self._outputs.get(index) if array is None else array

    # -- running ----------------------------------------------------------------------------

    def check_unlent(self) -> None:
        """RuntimeError if the caller holds a view."""
        if self._lent:
            raise RuntimeError(_HELD)

    def invoke(self) -> None:
        """Run the model (RuntimeError if tensors are not allocated, or it fails)."""
        self.check_unlent()
        if self._session is None:
            raise RuntimeError(_NOT_READY)
        try:
            results = self._session.run(self._feed)
        except TflgpuError as error:
            raise RuntimeError(str(error)) from error
        self._outputs.update(zip(self._results, results.values(), strict=True))

    def reset_variables(self) -> None:
        if self._session is not None:
            self._session.reset()
