"""The content of stores, to be compared."""

from pathlib import Path


def variants(store: Path) -> dict[str, bytes]:
    """Every file of every variant in a store, by its path."""
    return {
        path.relative_to(store).as_posix(): path.read_bytes()
        for path in sorted(store.glob("*/*/**/*"))
        if path.is_file()
    }
