"""The manifest of a store: which models were compiled into it, as `manifest.json`.

    {"variants": [{"model": "models/digits.tflite", "fingerprint": "8c0d...", "variant":
        "opencl-f32-mali-a20d7aa81cd8", "status": "compiled", "findings": [], ...}, ...]}

A row stays as long as its variant is in the store; rows of failures stay until the next run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from filelock import FileLock

from ...runtime.errors import PlanError
from ...runtime.store.private_files import make_private, read_file, replace_file

MANIFEST = "manifest.json"
LARGEST_FILE = 1 << 28
"""Bytes of a manifest, at most."""


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

    def __init__(self, store: Path) -> None:
        """Read the manifest, if there is one (PlanError)."""
        self._path = store / MANIFEST
        self._added: dict[tuple[str, str, str], Row] = {}
        self._before = {(row.fingerprint, row.request): row for row in self._read()}

    def find(self, fingerprint: str, request: str) -> Row | None:
        """A row of an earlier run for the same content and request that has a variant."""
        row = self._before.get((fingerprint, request))
        return row if row is not None and row.variant else None

    def add(self, row: Row) -> None:
        self._added[row.key] = row

    def write(self, is_present: Callable[[Row], bool]) -> None:
        """Merge the rows added into the file, which other runs may have changed (PlanError).

        Rows of other runs stay if `is_present` says that their variant is still there.
        """
        make_private(self._path.parent)
        try:
            with FileLock(self._path.with_name(f".{MANIFEST}.lock"), mode=0o600):
                merged = {row.key: row for row in self._read() if row.variant and is_present(row)}
                rows = sorted((merged | self._added).values(), key=lambda row: row.key)
                content = json.dumps({"variants": [asdict(row) for row in rows]}, indent=1)
                replace_file(self._path, f"{content}\n".encode())
        except OSError as error:
            raise PlanError(f"cannot write {self._path}: {error.strerror or error}") from error

    def _read(self) -> list[Row]:
        if not self._path.exists():
            return []
        try:
            content = json.loads(read_file(self._path, LARGEST_FILE))
            return [_row(item) for item in content["variants"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise PlanError(
                f"{self._path} is not a manifest of tflgpu: {error}; remove it, and the next run "
                f"writes a new one"
            ) from error


_FIELDS = {item.name for item in fields(Row)}


def _row(item: Any) -> Row:
    if not isinstance(item, dict) or item.keys() != _FIELDS:
        raise ValueError(f"a row must have the fields {', '.join(sorted(_FIELDS))}")
    return Row(**{**item, "findings": tuple(item["findings"])})
