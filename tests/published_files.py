"""What tests of stores look at: published variants and their files."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.plan.records import Plan
from tflgpu.runtime.remote.fetch import fetch
from tflgpu.runtime.remote.keys import ANYONE, Trust
from tflgpu.runtime.remote.manifest import Publication
from tflgpu.runtime.remote.published import published
from tflgpu.runtime.remote.store import Store

CHAIN = "ab" * 32  # The fingerprint of the plan `chain`.
PATH = f"{CHAIN}/variant"  # Where its variant is in a store.


def only_one(found: Sequence[tuple[Path, Plan]]) -> NoReturn:
    raise AssertionError("there are several variants")


def fetched(url: str, model: str | None = None, trust: Trust = ANYONE) -> Path:
    """The folder that the only variant of a model is fetched into."""
    return fetch(url, model, trust, only_one)


def fetched_plan(url: str, trust: Trust = ANYONE) -> Plan:
    """The plan of such a variant, all of whose files have been checked."""
    return read_variant(fetched(url, trust=trust)).plan


def present(store: Store, variant: str = "variant") -> Publication:
    """A variant of `chain` that is in a store."""
    found = published(store, CHAIN, variant)
    assert found is not None
    return found


def files_on(disk: Path, store: Store) -> Path:
    """The folder with the files of `chain`, of a store on a disk."""
    return disk / present(store).files
