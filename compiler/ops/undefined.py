"""Operators of TFLite that no kernel or rewrite computes: only what operands they take."""

from __future__ import annotations

from .base import declare

declare(
    "HASHTABLE -> handle:resource",
    "HASHTABLE_FIND handle:resource keys default -> values",
    "HASHTABLE_IMPORT handle:resource keys values ->",
    "HASHTABLE_SIZE handle:resource -> size",
    "MULTINOMIAL logits count:integer -> y",
    "RANDOM_STANDARD_NORMAL shape:integer -> y",
    "RANDOM_UNIFORM shape:integer -> y",
    "UNIQUE x:T -> values:T indices:integer",
)
