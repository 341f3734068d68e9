"""Files cut off and bits flipped: an error, or the right result where nothing relies on them."""

from pathlib import Path

import pytest
from devices import Attached
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import chain, check

from tflgpu.runtime import PlanError, load
from tflgpu.runtime.cache.binaries import BINARIES


@pytest.fixture
def loaded(tmp_path: Path, attached: Attached) -> Path:
    """A variant that tests damage and repair."""
    return chain(target=attached.target).write(tmp_path / "cache")


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damage_is_an_error_or_does_no_harm(
    loaded: Path, attached: Attached, data: st.DataObject
) -> None:
    """Files cut off and bits flipped: PlanError, or the right result where nothing relies on it."""
    check(loaded, attached.device)
    files = sorted(path for path in loaded.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files), "file")
    content = path.read_bytes()
    damaged = bytearray(content[: data.draw(st.integers(0, len(content)), "bytes left")])
    for _ in range(data.draw(st.integers(1, 3), "bytes changed")):
        if damaged:
            place = data.draw(st.integers(0, len(damaged) - 1), "byte")
            damaged[place] ^= data.draw(st.integers(1, 255), "bits")
    path.write_bytes(damaged)
    stored = loaded / BINARIES
    try:
        if path.parent == stored or damaged == content:
            check(loaded, attached.device)
            return
        with pytest.raises(PlanError, match=path.name):
            load(loaded, device=attached.device)
    finally:
        path.write_bytes(content)
