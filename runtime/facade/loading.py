"""`load`, which compiles a .tflite file first: the runtime itself does without the compiler."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, Any

from .runtime.api import load as load_compiled

if TYPE_CHECKING:
    from .runtime.session import Session


@wraps(load_compiled)
def load(cache: Any, *arguments: Any, **options: Any) -> Session:
    if not (isinstance(cache, (str, os.PathLike)) and os.path.isfile(cache)):
        return load_compiled(cache, *arguments, **options)
    from .compiler.user_cache import load_model

    return load_model(os.fspath(cache), *arguments, **options)
