"""Warning whoever called tflgpu, however deep inside of it the reason was found."""

from __future__ import annotations

import sys
from itertools import count
from warnings import warn

from .errors import TflgpuWarning

_PACKAGE = __name__.partition(".")[0]


def warn_caller(warning: TflgpuWarning) -> None:
    """Give a warning to the nearest caller outside of tflgpu, whose line it then names."""
    warn(warning, stacklevel=_callers())


def _callers() -> int:
    """The `stacklevel` with which `warn_caller` reaches that caller."""
    for level in count(1):
        try:
            module = sys._getframe(level).f_globals.get("__name__", "")
        except ValueError:
            break
        if module.partition(".")[0] != _PACKAGE:
            break
    return level
