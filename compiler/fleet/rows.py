"""The rows of a run: those of earlier runs, and its own, which are saved now and then."""

from __future__ import annotations

from time import monotonic

from .place import Place
from .row import Row

SAVED_EVERY = 5.0
"""Seconds after which rows are saved, so that a run that is killed loses few of them."""


class Rows:
    """The rows of a place, to which a run adds its own."""

    def __init__(self, place: Place) -> None:
        """Read the rows, if there are any (PlanError, StoreError)."""
        self._place = place
        self._added: list[Row] = []
        self._saved = monotonic()
        # Fail now if nothing can be written, before anything is compiled.
        place.add_rows(())
        rows = sorted(place.read_rows(), key=lambda row: (bool(row.variant), row.time))
        self._before = {(row.fingerprint, row.request): row for row in rows}

    def find(self, fingerprint: str, request: str) -> Row | None:
        """The newest row for the same content and request, one with a variant first."""
        return self._before.get((fingerprint, request))

    def add(self, row: Row) -> None:
        """Add a row, and save it with the next ones (PlanError, StoreError)."""
        self._added.append(row)
        if monotonic() - self._saved > SAVED_EVERY:
            self.save()

    def save(self) -> None:
        """Write the rows that were added since the last time (PlanError, StoreError)."""
        if self._added:
            self._place.add_rows(self._added)
            self._added = []
        self._saved = monotonic()
