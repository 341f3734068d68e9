"""Rounding of floats to those that a quantized tensor would hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from .decomposition import Decomposition, decomposes


@decomposes("FAKE_QUANT")
def fake_quant(here: Decomposition) -> str | None:
    """The range is moved so that 0 is one of the numbers; all in float32, as in LiteRT."""
    attrs = here.op.attrs
    least, most = (np.float32(attrs.get(name, 0.0)) for name in ("min", "max"))
    last = np.float32(2 ** int(attrs.get("num_bits", 0)) - 1)
    if not least <= 0 <= most or least == most or last < 1 or attrs.get("narrow_range", False):
        raise ModelError(
            f"operator {here.op!r}: its range is narrow, or not one of numbers around 0: "
            f"{least} to {most}"
        )
    scale = (most - least) / last
    zero = np.clip(np.floor(-least / scale + np.float32(0.5)), 0, last)
    options: dict[str, Any] = {
        "least": float(-zero * scale),
        "most": float((last - zero) * scale),
        "scale": float(scale),
        "inverse": float(np.float32(1) / scale),
    }
    here.finish(here.add("tflgpu.fake_quant", here.op.operand(0), **options))
    return None
