"""Operators that one kernel computes together."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from ..errors import ModelError
from .op import Op
from .tensor import Tensor


class FusedOp(Op):
    """Several operators computed by one kernel: a core, then an epilogue.

    An implementation of `name` computes the core. If the core is a single operator, the fused
    operator has its name, operands and attributes. The epilogue consists of elementwise operators,
    which are computed where the kernel stores the core's result, on values of the same shape.

    Tensors between the operators exist only inside the kernel, unless they are among `outputs`.
    With an epilogue, `outputs` are the result of the last operator, followed by the early outputs:
    earlier results that other operators read too. Results of the core's last operator but the first
    one pass by the epilogue.
    """

    def __init__(
        self, name: str, core: Iterable[Op], epilogue: Iterable[Op], outputs: Iterable[Tensor]
    ) -> None:
        self._core, self._epilogue = tuple(core), tuple(epilogue)
        last = self._core[-1]
        origins = dict.fromkeys(origin for op in self.ops for origin in op.origins)
        attrs = last.attrs if name == last.name else {}
        super().__init__(
            name, (), outputs, attrs, last.index, last.version, origins=sorted(origins)
        )

    @property
    def core(self) -> tuple[Op, ...]:
        return self._core

    @property
    def epilogue(self) -> tuple[Op, ...]:
        return self._epilogue

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        if len(self._core) == 1:
            return self._core[0].inputs
        return _read_from_outside(self._core, ())

    @property
    def epilogue_inputs(self) -> tuple[Tensor, ...]:
        return _read_from_outside(self._epilogue, self._core)

    @property
    def results(self) -> tuple[Tensor, ...]:
        early = self.early_outputs
        return tuple(tensor for tensor in self.outputs if tensor not in early)

    @property
    def early_outputs(self) -> tuple[Tensor, ...]:
        beside = self._core[-1].outputs[1:]
        later = self.outputs[1:] if self._epilogue else ()
        return tuple(tensor for tensor in later if tensor not in beside)

    def replace_operands(self, new: Mapping[Tensor, Tensor]) -> None:
        for op in self.ops:
            op.replace_operands(new)

    def set_operands(self, inputs: Iterable[Tensor | None]) -> None:
        """Replace all operands of the core, which must be a single operator."""
        (core,) = self._core
        core.set_operands(inputs)

    def set_results(self, outputs: Iterable[Tensor]) -> None:
        new = dict(zip(self.outputs, outputs, strict=True))
        for op in self.ops:
            op.replace_operands(new)
            op.set_results(new.get(tensor, tensor) for tensor in op.outputs)
        self.outputs = tuple(new.values())


def _read_from_outside(ops: tuple[Op, ...], before: tuple[Op, ...]) -> tuple[Tensor, ...]:
    """The tensors `ops` read that neither they nor `before` compute, each once, in order."""
    inside = {tensor for op in (*before, *ops) for tensor in op.outputs}
    reads = (tensor for op in ops for tensor in op.reads)
    return tuple(dict.fromkeys(tensor for tensor in reads if tensor not in inside))


def fuse(host: Op, op: Op, keep: bool = False) -> FusedOp:
    """`host` with the elementwise `op` in its epilogue; with `keep`, its own output stays, too."""
    epilogue = (*host.epilogue, *op.ops)
    kept = (host.output,) if keep else ()
    return FusedOp(host.name, host.core, epilogue, (op.output, *kept))


def verify_fused(op: FusedOp, graph: Container[Tensor]) -> None:
    """ModelError unless values flow forward within a fused operator and leave it as outputs."""
    computed: set[Tensor] = set()
    outside = set(op.reads)
    for inner in op.ops:
        for tensor in inner.reads:
            if tensor not in computed and tensor not in outside:
                raise ModelError(f"{inner!r} in {op!r} reads {tensor.name} before it is computed")
        computed.update(inner.outputs)
    if not op.core or computed & outside:
        raise ModelError(f"{op!r} reads its own results, or has no core")
    last = not op.epilogue or op.output is op.epilogue[-1].output
    if not last or not computed.issuperset(op.outputs):
        raise ModelError(
            f"{op!r} does not compute all of its outputs, or its first output is not the "
            f"result of its last operator"
        )
    for tensor in computed.difference(op.outputs):
        if tensor in graph:
            raise ModelError(f"{tensor.name} is used outside {op!r}, which does not store it")
    for inner in op.epilogue:
        if inner.output.shape != op.output.shape:
            raise ModelError(
                f"{inner!r} in the epilogue of {op!r} has the shape {list(inner.output.shape)} "
                f"instead of {list(op.output.shape)}"
            )
