"""Sessions of one model for the signatures and input shapes that an application asks for.

All signatures are compiled at once, so that they share their weights and variables. One whose
inputs are resized is compiled again by itself. The sessions used last stay loaded.
"""

import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from ..compiler.emit.variant_name import compiled_folder
from ..compiler.frontend.reader import read
from ..compiler.ir import Shape
from ..compiler.options import Options
from ..compiler.pipeline import build, target_of, write
from ..compiler.rewrites.canonicalize.infer_and_fold import infer_and_fold
from ..compiler.user_cache import for_attached_device, load_or_compile
from ..runtime import Session, TflgpuError, load
from ..runtime.custom_op import CustomOp
from ..runtime.litert.module import interpreter_module
from .file import Model

LOG = logging.getLogger("tflgpu.litert")


@dataclass(frozen=True)
class Loader:
    """A model, and where it is compiled and run; a cache finds it by content and options."""

    model: Callable[[], Model]
    device: str
    cache: Path
    custom_ops: Mapping[str, CustomOp]

    def options(
        self, signatures: tuple[str, ...], shapes: tuple[tuple[str, Shape], ...]
    ) -> Options:
        """Options to compile some signatures for input shapes, as `Options` has both."""
        return Options(
            device=self.device,
            fallback="litert" if _litert_is_installed() else "none",
            custom_ops=tuple(sorted(self.custom_ops)),
            signature=signatures,
            input_shapes=shapes,
        )

    def load(self, signatures: tuple[str, ...], shapes: tuple[tuple[str, Shape], ...]) -> Session:
        """A new session. Raises what `tflgpu.compile` and `tflgpu.load` raise."""
        options, model = for_attached_device(self.options(signatures, shapes)), self.model()
        folder = compiled_folder(model, options, self.cache)
        return load_or_compile(
            folder,
            lambda found: load(found, device=self.device, custom_ops=self.custom_ops),
            lambda: self._compile(model, options),
        )

    def _compile(self, model: Model, options: Options) -> Path:
        start = perf_counter()
        compiled = build(model, options)
        self.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = write(compiled, self.cache)
        on_litert = sum(len(part.operators) for part in compiled.plan.parts)
        LOG.info(
            "compiled %s in %.1f s into %s%s",
            compiled.plan.model,
            perf_counter() - start,
            folder,
            f"; {on_litert} of its operators run on LiteRT" if on_litert else "",
        )
        return folder


def _litert_is_installed() -> bool:
    try:
        interpreter_module()
    except ImportError:
        return False
    return True


KEPT = 4  # How many sessions of a signature with resized inputs stay loaded.
Shapes = Mapping[str, Shape]  # The input shapes that differ from the model's, by name.
Key = tuple[tuple[str, Shape], ...]  # Such shapes as sorted pairs.


class Together:
    """One session for signatures, and for choices of shapes of the first; closed with this."""

    def __init__(
        self, loader: Loader, signatures: tuple[str, ...], choices: Mapping[Key, Shapes]
    ) -> None:
        """`signatures` is empty for the first subgraph under its own names.

        `choices` are input shapes to compile at once, by what differs from the model's.
        """
        self._loader, self._signatures, self._choices = loader, signatures, choices
        self._session: Session | None = None
        self._given: set[tuple[str, Key]] = set()  # What the application has had sessions for.
        self._failed = False

    def session(self, signature: str, shapes: Key) -> Session | None:
        """The session for a signature with these input shapes; None if it is not among these.

        Variables have their initial content the first time, and again if it is asked for twice.
        Raises what `tflgpu.compile` and `tflgpu.load` raise; None if one of several signatures
        cannot be compiled.
        """
        first = signature in ("", *self._signatures[:1])
        choice = self._choices.get(shapes) if first else None
        if self._failed or (choice is None and (shapes or (first and self._choices))):
            return None
        try:
            session = self._session or self._load()
        except TflgpuError:
            if len(self._signatures) < 2:
                raise
            self._failed = True
            return None
        session = session.with_signature(signature) if signature else session
        session = session.with_shapes(choice) if choice else session
        if (signature, shapes) in self._given:
            session.reset()
        self._given.add((signature, shapes))
        return session

    def _load(self) -> Session:
        prefix = f"{self._signatures[0]}/" if len(self._signatures) > 1 else ""
        shapes = tuple(
            (prefix + name, shape)
            for choice in self._choices.values()
            for name, shape in choice.items()
        )
        self._session = self._loader.load(self._signatures, shapes)
        weakref.finalize(self, _close, [self._session])
        return self._session


class Variants:
    """The loaded sessions of a model or a signature; those resized are closed with it."""

    def __init__(self, loader: Loader, signature: str, together: Together) -> None:
        self._loader, self._signature, self._together = loader, signature, together
        # The session used last is the last.
        self._loaded: OrderedDict[Key, Session] = OrderedDict()
        weakref.finalize(self, _close, self._loaded.values())

    def session(self, shapes: Shapes) -> Session:
        """The session for these shapes, compiled if need be (as `tflgpu.compile` and `load`)."""
        key = tuple(sorted(shapes.items()))
        together = self._together.session(self._signature, key)
        if together is not None:
            return together
        if key in self._loaded:
            self._loaded.move_to_end(key)
            self._loaded[key].reset()
        else:
            self._loaded[key] = self._loader.load(self._signatures, key)
            if len(self._loaded) > KEPT:
                self._loaded.popitem(last=False)[1].close()
        return self._loaded[key]

    def shapes(self, shapes: Shapes) -> Shapes:
        """The shapes of all tensors for these input shapes. Raises what `tflgpu.compile` raises."""
        options = self._loader.options(self._signatures, tuple(sorted(shapes.items())))
        return inferred_shapes(self._loader.model(), options)

    @property
    def _signatures(self) -> tuple[str, ...]:
        return (self._signature,) if self._signature else ()


def _close(sessions: Iterable[Session]) -> None:
    for session in sessions:
        session.close()


def inferred_shapes(model: Model, options: Options) -> Mapping[str, Shape]:
    """The shape of each tensor, by the compiler's name for it.

    Shapes that are known only while the model runs are those in the file. ModelError if the model
    is invalid, DeviceError if there is no such device.
    """
    graph = read(model, dict(options.input_shapes), options.signature_key or None)
    tensors = list(graph.tensors)
    infer_and_fold(graph, target_of(options))
    return {tensor.name: tensor.shape for tensor in tensors}
