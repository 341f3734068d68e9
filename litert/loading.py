"""Loads a model that is opened through LiteRT's interface, compiled when it is first needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from ..compiler.emit.variant_name import compiled_folder
from ..compiler.ir import Shape
from ..compiler.options import Options
from ..compiler.pipeline import build, write
from ..compiler.user_cache import for_attached_device, load_or_compile
from ..runtime import Session, load
from ..runtime.custom_op import CustomOp
from ..runtime.litert.module import interpreter_module
from .file import Model

LOG = logging.getLogger("tflgpu.litert")


@dataclass(frozen=True)
class Loader:
    """A model, and where it is compiled and run.

    A cache folder finds a compiled model by its content and the options.
    """

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
