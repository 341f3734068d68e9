"""What tests of bound inputs and outputs run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from devices import Attached
from plans import chain

from tflgpu.runtime import Session, load


@pytest.fixture
def session(tmp_path: Path, attached: Attached) -> Iterator[Session]:
    folder = chain(target=attached.target).write(tmp_path)
    with load(folder, device=attached.device) as loaded:
        loaded.poison()
        yield loaded
