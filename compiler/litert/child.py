"""Questions about models to LiteRT, which runs in a process of its own and may crash or hang there.

A model may be a stranger's, and LiteRT trusts models: an operator with odd operands can read memory
that is not there. The process is started for the first question.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from threading import Timer
from types import TracebackType
from typing import IO, Any, TypeVar

import numpy as np

from ...runtime.litert.module import KernelSet
from ...runtime.plan.records import TensorInfo
from ..errors import ModelError
from ..frontend.model_file import Model
from ..ir import Array
from .reference import require_litert

T = TypeVar("T")

Output = tuple[TensorInfo, Array]  # An output as LiteRT describes and computes it.

MODULE = "tflgpu.runtime.litert.probe"

LIMIT = 60.0  # Seconds in which LiteRT must answer.
LONGEST_RUN = 600.0  # Seconds that LiteRT may take to run a model.


class Child:
    """A process with LiteRT, which ends with the `with` block."""

    # Questions of this process that LiteRT did not answer: it crashed or took too long.
    unanswered = 0

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self._process: subprocess.Popen[bytes] | None = None
        self._expired = False

    def ask(self, function: str, *arguments: Any) -> Any:
        """The result of a function of `MODULE`, as JSON has it.

        ModelError if LiteRT rejects the model, crashes or does not answer in time;
        ReferenceMissingError if it is not installed.
        """
        return self._answer(lambda result, stream: result, function, *arguments)

    def run(
        self,
        model: Model,
        inputs: Sequence[Array] | Mapping[str, Array],
        signature: str = "",
        kernels: KernelSet = "XNNPACK",
    ) -> list[Output]:
        """The outputs of a run of a model, in the order of LiteRT.

        `inputs` are in the model's order; for a signature, by name. Raises what `ask` raises.
        """
        source = model if isinstance(model, bytes) else os.fspath(model)
        if isinstance(inputs, Mapping) and not signature:
            inputs = list(inputs.values())
        return self._answer(_outputs, "run", source, inputs, signature, kernels)

    def _answer(self, read: Callable[[Any, IO[bytes]], T], function: str, *arguments: Any) -> T:
        """What `read` makes of the result of a function and of what follows it."""
        require_litert()
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        timer = Timer(self._limit, self._expire, [process])
        timer.start()
        try:
            pickle.dump((function, arguments), process.stdin)
            process.stdin.flush()
            error, result = json.loads(process.stdout.readline())
            if not error:
                return read(result, process.stdout)
        except (OSError, ValueError) as cause:
            raise ModelError(self._ending(process)) from cause
        finally:
            timer.cancel()
        raise ModelError(f"LiteRT cannot run this model: {error.splitlines()[0]}")

    def _expire(self, process: subprocess.Popen[bytes]) -> None:
        self._expired = True
        process.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        """Why a process gave no answer; the next question starts another."""
        Child.unanswered += 1
        self._process = None
        status, expired = _closed(process), self._expired
        self._expired = False
        if expired:
            return f"LiteRT takes longer than {self._limit:.0f} s for this model"
        cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"LiteRT crashes on this model ({cause})"

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            if error is not None:
                self._process.kill()
            _closed(self._process)
            self._process = None


def run_apart(
    model: Model,
    inputs: Sequence[Array] | Mapping[str, Array],
    signature: str = "",
    kernels: KernelSet = "XNNPACK",
) -> list[Output]:
    """What `Child.run` returns, of a process for this run alone."""
    with Child(LONGEST_RUN) as child:
        return child.run(model, inputs, signature, kernels)


def _outputs(infos: Any, stream: IO[bytes]) -> list[Output]:
    """The outputs of a run, whose numbers follow in a stream; ValueError if that ends before."""
    found = []
    for name, shape, dtype, scale, zero_point in infos:
        kind = np.dtype(dtype)
        data = bytearray(stream.read(prod(shape) * kind.itemsize))
        array = np.frombuffer(data, kind).reshape(shape) if data else np.empty(shape, kind)
        info = TensorInfo(name, tuple(shape), kind.name, scale, zero_point)
        found.append((info, array.astype(object) if kind.kind == "S" else array))
    return found


def _closed(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a process whose input ends now."""
    # It may have ended before it read what is still to be written.
    with suppress(BrokenPipeError):
        process.__exit__(None, None, None)
    assert process.returncode is not None
    return process.returncode
