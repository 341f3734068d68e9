"""Asking on the terminal for the passphrase of a key."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ...runtime.remote.keys import Ask


def passphrases() -> Ask | None:
    """What asks for passphrases, which the terminal does not show; None without a terminal."""
    return _ask if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(path: Path) -> str:
    answer: str = click.prompt(
        f"Passphrase of {path}", hide_input=True, default="", show_default=False, err=True
    )
    return answer
