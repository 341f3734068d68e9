"""Hand-written plans, loaded on each OpenCL device."""

from pathlib import Path

import pytest
from plans import Opener, opener


@pytest.fixture
def opened(tmp_path: Path, opencl_device: str) -> Opener:
    return opener(tmp_path / "cache", opencl_device)
