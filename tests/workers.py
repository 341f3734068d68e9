"""Which tests one of several workers runs, one after another: those of a file.

They share fixtures of modules, and what is remembered in a process. The files `APART` are of tests
that share little and take long, which are handed out one by one, after all others.
"""

from typing import Any

import pytest
from paths import ROOT
from xdist.scheduler import LoadScopeScheduling

APART = (
    "tests/compiler/ops/test_empty_shapes.py",
    "tests/compiler/ops/test_operators.py",
    "tests/compiler/select/test_buffers.py",
    "tests/compiler/tools/machine_code/test_radv.py",
    "tests/docs/test_blocks.py",
    "tests/models/test_networks.py",
    "tests/oclgrind/test_findings.py",
    "tests/runtime/opencl/test_trials.py",
    "tests/templates/test_sources.py",
)


def unit(test: str) -> str:
    """What a test, by the name it has everywhere, is handed out with."""
    file = test.partition("::")[0]
    return test if file in APART else file


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands out units, those of most tests first."""
    missing = [file for file in APART if not (ROOT / file).is_file()]
    assert not missing, f"tests/workers.py names files that are not there: {missing}"
    made = LoadScopeScheduling(config, log)
    made._split_scope = unit
    return made
