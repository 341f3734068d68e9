"""A place for what a run compiles, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...runtime.plan.records import HostPart
from ..emit.compiled_model import CompiledModel

Change = Callable[[bytes | None], bytes]
"""Takes the content of a file, None if there is none, and returns its new content.

Changing the result once more must give the same.
"""


@dataclass(frozen=True)
class Kept:
    """A variant that a place has."""

    path: Path | str
    """The variant's folder, or its URL."""
    size: int
    """Bytes of all files but the binaries, which drivers made."""
    parts: Callable[[], tuple[HostPart, ...]]
    """Its parts on LiteRT."""


class Place(Protocol):
    """A cache, here or elsewhere. PlanError or StoreError if it cannot be used."""

    def find(self, fingerprint: str, variant: str) -> Kept | None:
        """A variant that is there and whole; else None."""

    def put(self, compiled: CompiledModel) -> Kept:
        """Write a variant, whole or not at all, unless it is there."""

    def holding(self) -> Callable[[str, str], bool]:
        """A function that says whether a variant is there, by fingerprint and name."""

    def at(self, name: str) -> str:
        """The path or the URL of a file beside the models, for display."""

    def read(self, name: str) -> bytes | None:
        """The content of such a file; None if there is none."""

    def change(self, name: str, change: Change) -> None:
        """Change such a file, whole or not at all, whatever other processes change in it."""
