"""LiteRT's GPU accelerator on the same model, for comparison; it needs a GPU that it supports."""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

import numpy as np

from ...errors import ModelError
from ...frontend.model_file import Model
from ...ir import Array
from ...litert.reference import ReferenceMissingError


class Accelerated:
    """A model compiled by LiteRT for the GPU.

    ModelError if LiteRT finds no GPU or cannot run the model on it, ReferenceMissingError if it is
    not installed.
    """

    def __init__(self, model: Model) -> None:
        try:
            from ai_edge_litert.compiled_model import CompiledModel
            from ai_edge_litert.hardware_accelerator import HardwareAccelerator
        except ImportError as error:
            raise ReferenceMissingError(
                f"LiteRT's GPU accelerator cannot be imported ({error}): "
                "pip install 'tflgpu[litert]'"
            ) from error
        gpu = HardwareAccelerator.GPU
        try:
            with _stdout_to_stderr():
                self._model: Any = (
                    CompiledModel.from_buffer(bytes(model), hardware_accel=gpu)
                    if isinstance(model, (bytes, bytearray, memoryview))
                    else CompiledModel.from_file(os.fspath(model), hardware_accel=gpu)
                )
            self._inputs = self._model.create_input_buffers(0)
            self._outputs = self._model.create_output_buffers(0)
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                "LiteRT's GPU accelerator cannot compile this model, or finds no GPU; see its "
                "messages above"
            ) from error
        signature = self._model.get_signature_by_index(0)
        details = self._model.get_output_tensor_details(signature["key"])
        self._results = [details[name] for name in signature["outputs"]]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Copy the inputs in, run, and copy the outputs out, both in the model's order."""
        for buffer, array in zip(self._inputs, inputs, strict=True):
            buffer.write(array)
        self._model.run_by_index(0, self._inputs, self._outputs)
        return [
            buffer.read(prod(item["shape"]), np.dtype(item["dtype"])).reshape(item["shape"])
            for buffer, item in zip(self._outputs, self._results, strict=True)
        ]


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect what the library prints to stderr, as stdout may carry JSON."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        # The library prints through C's buffer, which must be flushed before stdout is restored.
        with suppress(OSError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
