"""Fixtures of tests of the cache."""

from pathlib import Path
from typing import Any

import pytest
from devices import ATTACHED, Attached, device_kinds, reached
from plans import chain


@pytest.fixture(params=[each for each in ATTACHED if each.keeps_binaries], ids=str)
def attached(request: pytest.FixtureRequest) -> Attached:
    """Every device that compiled kernels are stored for."""
    return reached(request)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path, attached: Attached) -> Path:
    return chain(target=attached.target).write(tmp_path / "cache")


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows whenever kernels are compiled from their sources."""
    seen: list[str] = []

    def watch(kind: Any) -> None:
        original = kind.build

        def build(self: Any, *kernels: Any) -> Any:
            seen.append(self.info.version)
            return original(self, *kernels)

        monkeypatch.setattr(kind, "build", build)

    for kind in device_kinds():
        watch(kind)
    return seen
