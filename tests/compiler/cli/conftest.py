"""Commands run on one OpenCL device: what they do does not depend on its driver."""

import pytest
from devices import best_opencl_device


@pytest.fixture
def opencl_device() -> str:
    return best_opencl_device()
