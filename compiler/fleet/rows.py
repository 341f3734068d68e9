"""The rows of a cache: which models were compiled into it, as its `manifest.json`.

    {"format": 1, "variants": [{"model": "models/digits.tflite", "fingerprint": "8c0d...",
        "variant": "opencl-f32-mali-a20d7aa81cd8", "status": "compiled", "findings": [], ...}, ...]}

A row stays as long as its variant is in the cache; rows of failures stay until the next run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...runtime.errors import PlanError
from .place import Place

MANIFEST = "manifest.json"
FORMAT = 1
"""To be raised whenever the fields of a row change."""


@dataclass(frozen=True)
class Row:
    """What became of one task."""

    model: str
    """The path of the model's file, as given."""
    fingerprint: str
    target: str
    precision: str
    profile: str
    request: str
    """What decided the variant; see `Task.request`."""
    variant: str
    """The variant's name; empty if there is none."""
    status: str
    """compiled; present (it was in the cache already, or is that of an equal model); or failed."""
    findings: tuple[Mapping[str, Any], ...]
    """Operators that cannot run on the device, as `Finding.as_dict` gives them."""
    error: str
    """Why it failed."""
    seconds: float
    """Time of the compilation, whenever that was."""
    bytes: int
    """Of all files of the variant but binaries, which drivers made."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.fingerprint, self.request


class Rows:
    """The rows of a cache, to which a run adds its own."""

    def __init__(self, cache: Place) -> None:
        """Read the rows, if there are any (PlanError, StoreError)."""
        self._cache = cache
        self._added: dict[tuple[str, str, str], Row] = {}
        rows = _rows(cache.read(MANIFEST), cache.at(MANIFEST))
        self._before = {(row.fingerprint, row.request): row for row in rows}

    def find(self, fingerprint: str, request: str) -> Row | None:
        """A row of an earlier run for the same content and request that has a variant."""
        row = self._before.get((fingerprint, request))
        return row if row is not None and row.variant else None

    def add(self, row: Row) -> None:
        self._added[row.key] = row

    def write(self) -> None:
        """Merge the rows added into the file, which other runs may have changed.

        Rows of other runs stay if their variant is still there. PlanError, StoreError.
        """
        holds = self._cache.holding()

        def merged(content: bytes | None) -> bytes:
            rows = {
                row.key: row
                for row in _rows(content, self._cache.at(MANIFEST))
                if row.variant and holds(row.fingerprint, row.variant)
            }
            ordered = sorted((rows | self._added).values(), key=lambda row: row.key)
            found = {"format": FORMAT, "variants": [asdict(row) for row in ordered]}
            return f"{json.dumps(found, indent=1)}\n".encode()

        self._cache.change(MANIFEST, merged)


def _rows(content: bytes | None, source: str) -> list[Row]:
    """The rows in the content of manifest.json, if there is one (PlanError, naming `source`)."""
    if content is None:
        return []
    try:
        found = json.loads(content)
        if found["format"] == FORMAT:
            return [_row(item) for item in found["variants"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(
            f"{source} is not a manifest of tflgpu: {error}; remove it, and the next run writes a "
            f"new one"
        ) from error
    raise PlanError(
        f"{source} has format {found['format']!r}, this version of tflgpu reads {FORMAT}; use "
        f"another cache, or the version that wrote it"
    )


_FIELDS = {item.name for item in fields(Row)}
_TEXTS = {
    *("model", "fingerprint", "target", "precision", "profile"),
    *("request", "variant", "status", "error"),
}
_NUMBERS = {"seconds", "bytes"}


def _row(item: Any) -> Row:
    if not isinstance(item, dict) or item.keys() != _FIELDS:
        raise ValueError(f"a row must have the fields {', '.join(sorted(_FIELDS))}")
    wrong = [
        *(name for name in _TEXTS if not isinstance(item[name], str)),
        *(name for name in _NUMBERS if type(item[name]) not in (int, float)),
    ]
    findings = item["findings"]
    if not isinstance(findings, list) or not all(isinstance(each, dict) for each in findings):
        wrong.append("findings")
    if wrong:
        raise ValueError(f"a row has a wrong type of {', '.join(sorted(wrong))}")
    return Row(**{**item, "findings": tuple(findings)})
