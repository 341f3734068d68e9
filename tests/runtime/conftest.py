"""What tests of the runtime with processes of their own need."""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext

import pytest
from paths import TESTS


@pytest.fixture(scope="session")
def server() -> ForkServerContext:
    """Forks processes that have never called a driver, since drivers do not survive a fork."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plans.processes"])
    with pytest.MonkeyPatch.context() as patch:
        # The server does not take over sys.path before it imports.
        patch.setenv("PYTHONPATH", str(TESTS))
        forkserver.ensure_running()
    return context
