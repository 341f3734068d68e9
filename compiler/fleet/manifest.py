"""The manifest of a store: which models were compiled into it, as `manifest.json`.

    {"variants": [{"model": "models/digits.tflite", "fingerprint": "8c0d...", "variant":
        "opencl-f32-mali-a20d7aa81cd8", "status": "compiled", "findings": [], ...}, ...]}

A row stays as long as its variant is in the store; rows of failures stay until the next run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...runtime.errors import PlanError
from .places import Place

MANIFEST = "manifest.json"


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
    """compiled, present (it was in the store before the run) or failed."""
    findings: tuple[Mapping[str, Any], ...]
    """Operators that cannot run on the device, as `Finding.as_dict` gives them."""
    error: str
    """Why it failed."""
    seconds: float
    """Time of the compilation, whenever that was."""
    bytes: int
    """Of all files of the variant."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.model, self.fingerprint, self.request


class Manifest:
    """The rows of a store's manifest, to which a run adds its own."""

    def __init__(self, store: Place) -> None:
        """Read the manifest, if there is one (PlanError, StoreError)."""
        self._store = store
        self._added: dict[tuple[str, str, str], Row] = {}
        rows = _rows(store.read(MANIFEST), store.at(MANIFEST))
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
        holds = self._store.holding()

        def merged(content: bytes | None) -> bytes:
            rows = {
                row.key: row
                for row in _rows(content, self._store.at(MANIFEST))
                if row.variant and holds(row.fingerprint, row.variant)
            }
            ordered = sorted((rows | self._added).values(), key=lambda row: row.key)
            found = {"variants": [asdict(row) for row in ordered]}
            return f"{json.dumps(found, indent=1)}\n".encode()

        self._store.change(MANIFEST, merged)


def _rows(content: bytes | None, source: str) -> list[Row]:
    """The rows in the content of a manifest, if there is one (PlanError, naming `source`)."""
    if content is None:
        return []
    try:
        return [_row(item) for item in json.loads(content)["variants"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(
            f"{source} is not a manifest of tflgpu: {error}; remove it, and the next run writes a "
            f"new one"
        ) from error


_FIELDS = {item.name for item in fields(Row)}


def _row(item: Any) -> Row:
    if not isinstance(item, dict) or item.keys() != _FIELDS:
        raise ValueError(f"a row must have the fields {', '.join(sorted(_FIELDS))}")
    return Row(**{**item, "findings": tuple(item["findings"])})
