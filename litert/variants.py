"""Sessions of one model for the input shapes that an application asks for.

A model is compiled the first time that it is used with certain input shapes, into a cache folder
that finds it by its content and the options. The sessions used last stay loaded.
"""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

from ..compiler.emit.variant_name import compiled_folder
from ..compiler.ir import Shape
from ..compiler.options import Options
from ..compiler.pipeline import build, store
from ..compiler.user_cache import for_attached_device, load_or_compile
from ..runtime import Session, load
from ..runtime.custom_op import CustomOp
from ..runtime.litert.module import interpreter_module
from .file import Model
from .shapes import inferred_shapes

LOG = logging.getLogger("tflgpu.litert")

KEPT = 4
"""How many sessions stay loaded."""

Shapes = Mapping[str, Shape]
"""The input shapes that differ from the model's, by name."""

Key = tuple[tuple[str, Shape], ...]
"""Such shapes as sorted pairs; or the pairs of all choices that are compiled at once."""


class Variants:
    """The loaded sessions of a model or of one of its signatures.

    They are closed when the application drops this object.
    """

    def __init__(
        self,
        model: Callable[[], Model],
        signature: str,
        device: str,
        cache: Path,
        custom_ops: Mapping[str, CustomOp],
        choices: Mapping[Key, Shapes],
    ) -> None:
        """`choices` are input shapes to compile at once, by what differs from the model's."""
        self._custom_ops, self._choices = custom_ops, choices
        self._together: Key = tuple(pair for choice in choices.values() for pair in choice.items())
        self._model, self._signature = model, signature
        self._device, self._cache = device, cache
        self._loaded: OrderedDict[Key, Session] = OrderedDict()
        """The session used last is the last."""
        weakref.finalize(self, _close, self._loaded)

    def session(self, shapes: Shapes) -> Session:
        """The session for these input shapes, compiled and loaded if need be.

        Its variables have their initial content. Raises what `tflgpu.compile` and `tflgpu.load`
        raise.
        """
        choice = self._choices.get(tuple(sorted(shapes.items())))
        key = tuple(sorted(shapes.items())) if choice is None else self._together
        if key in self._loaded:
            self._loaded.move_to_end(key)
            self._loaded[key].reset()
        else:
            self._loaded[key] = self._load(key)
            if len(self._loaded) > KEPT:
                self._loaded.popitem(last=False)[1].close()
        session = self._loaded[key]
        return session if choice is None else session.with_shapes(choice)

    def shapes(self, shapes: Shapes) -> Shapes:
        """The shapes of all tensors for these input shapes. Raises what `tflgpu.compile` raises."""
        return inferred_shapes(self._model(), self._options(tuple(sorted(shapes.items()))))

    def _options(self, shapes: Key) -> Options:
        return Options(
            device=self._device,
            fallback="litert" if _litert_is_installed() else "none",
            custom_ops=tuple(sorted(self._custom_ops)),
            signature=(self._signature,) if self._signature else (),
            input_shapes=shapes,
        )

    def _load(self, shapes: Key) -> Session:
        options, model = for_attached_device(self._options(shapes)), self._model()
        folder = compiled_folder(model, options, self._cache)
        return load_or_compile(
            folder,
            lambda found: load(found, device=self._device, custom_ops=self._custom_ops),
            lambda: self._compile(model, options),
        )

    def _compile(self, model: Model, options: Options) -> Path:
        start = perf_counter()
        compiled = build(model, options)
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = store(compiled, self._cache)
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


def _close(sessions: OrderedDict[Key, Session]) -> None:
    for session in sessions.values():
        session.close()
