"""A place for what a run compiles, whatever it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...runtime.plan.records import Plan
from ..emit.compiled_model import CompiledModel
from .row import Row


@dataclass(frozen=True)
class Kept:
    path: Path | str  # The variant's folder, or its URL.
    size: int  # Bytes of all files but the binaries, which drivers made.
    stamp: str  # A digest of when these files were changed last; empty if the place does not tell.


class Place(Protocol):
    """A cache, here or elsewhere. PlanError or StoreError if it cannot be used."""

    manifest: str  # The path or the URL of the rows, for display.
    # Whether other processes of this machine can write to it as well, with a pickled copy.
    shared: bool
    writers: int  # How many variants a process may write at a time.

    def find(self, fingerprint: str, variant: str, stamp: str) -> Kept | None:
        """A variant that is there and whole, or None; files with this known stamp are not read."""

    def put(self, compiled: CompiledModel) -> Kept:
        """Write a variant, whole or not at all, unless it is there."""

    def plan(self, fingerprint: str, variant: str) -> Plan:
        """The plan of a variant (PlanError if it is not there)."""

    def read_rows(self) -> list[Row]:
        """All rows, in no order."""

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows to those that this and other processes have written, whole or not at all."""
