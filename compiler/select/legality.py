"""Which kernels can run each operator; every reason why one cannot is kept."""

from __future__ import annotations

from dataclasses import dataclass

from ..devices import Profile
from ..errors import Finding, UnsupportedError
from ..frontend.tflite_schema import OWN_PREFIX
from ..ir import Graph, Op
from ..ops import OPS, Kernel
from ..ops.base import SLICED, device_dtype
from .refusals import CUT, refusal


@dataclass(frozen=True)
class Candidates:
    """The kernels that suit an operator, best first, and why the others do not."""

    kernels: tuple[Kernel, ...]
    objections: tuple[tuple[str, str], ...]
    """Pairs of a kernel's name and its objection."""


def candidates(graph: Graph, profile: Profile) -> dict[Op, Candidates]:
    """Kernels for every operator (UnsupportedError with all findings if one has none)."""
    chosen, findings = {}, []
    for op in graph.ops:
        finding = refusal(op)
        if finding is None:
            suited = _suited(op, profile)
            if suited.kernels:
                chosen[op] = suited
                continue
            reasons = "; ".join(f"{name}: {reason}" for name, reason in suited.objections)
            finding = Finding(op.index, op.name, reasons or OPS[op.name].refusal, CUT)
        findings.append(finding)
    if findings:
        of_the_model = [f for f in findings if not f.operator.startswith(OWN_PREFIX)]
        raise UnsupportedError(of_the_model or findings)
    return chosen


def _sliced_integers(op: Op, kernel: Kernel) -> str | None:
    """Only floats are stored in slices."""
    tensors = [t for t in op.inputs if t and not t.constant] if kernel.reads == SLICED else []
    tensors += [*op.outputs, *op.post_inputs] if kernel.writes == SLICED else []
    whole = next((t for t in tensors if device_dtype(t.dtype) == "int32"), None)
    return f"{whole.name} is {whole.dtype}; slices hold floats" if whole else None


def _suited(op: Op, profile: Profile) -> Candidates:
    kernels, objections = [], []
    for kernel in OPS[op.name].kernels:
        objection = _sliced_integers(op, kernel) or kernel.when(op, profile)
        if objection is None and op.post and not kernel.fuses:
            objection = "post-operators cannot be rendered into its store"
        if objection is None:
            kernels.append(kernel)
        else:
            objections.append((kernel.name, objection))
    return Candidates(tuple(kernels), tuple(objections))
