"""How many mutations are tried."""

import pytest

SHORT = 150  # How many are tried by default.


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> range:
    """A seed for each mutation to try."""
    count = request.config.getoption("--fuzz") or SHORT
    first = request.config.getoption("--fuzz-seed")
    print(f"seeds {first} to {first + count - 1}")
    return range(first, first + count)
