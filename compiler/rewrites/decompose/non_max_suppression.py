"""NON_MAX_SUPPRESSION_V4 and _V5 become tflgpu.suppress."""

from __future__ import annotations

from ...ops.non_max_suppression import SUPPRESS
from .decomposition import Decomposition, decomposes


@decomposes("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def suppress(here: Decomposition) -> str | None:
    """Only V5 suppresses softly; for V4 sigma is 0."""
    op = here.op
    operands = [op.operand(position) for position in range(5)]
    softly = op.name.endswith("5")
    sigma = op.operand(5) if softly else here.constant(0.0)
    types = ("int32", "float32", "int32", "float32")
    kept, scores, count, _ = here.several(SUPPRESS, (*operands, sigma), types)
    here.finish(*((kept, scores, count) if softly else (kept, count)))
    return None
