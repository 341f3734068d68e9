"""Variables that are only read to be updated are updated where they lie."""

import pytest
from graphs import lines, parsed

from tflgpu.compiler.devices import profile
from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import infer_and_fold
from tflgpu.compiler.rewrites.fuse.separate_outputs import separate_outputs
from tflgpu.compiler.rewrites.fuse.update_in_place import update_in_place
from tflgpu.compiler.rewrites.keep_state import keep_state
from tflgpu.compiler.target import Target

INPUTS = """
    input c float32[8,3]
    input k float32[2,3]
    input at int32[2] = 5,0
"""

KEPT = "c/next = tflgpu.keep(new) variable=c"


def becomes(source: str, expected: str, reason: str | None = None) -> None:
    """What becomes of a graph whose output `new` is kept as `c`."""
    graph, target = parsed(INPUTS + source).graph, Target(profile("gpu"))
    infer_and_fold(graph, target)
    keep_state(graph, (("new", "c"),))
    separate_outputs(graph, target)
    events = update_in_place(graph, target)
    assert str(graph).splitlines() == list(lines(expected)), f"it became\n{graph}"
    assert [event.reason for event in events] == [reason]


def test_an_update_writes_into_the_variable() -> None:
    becomes(
        """
        new = DYNAMIC_UPDATE_SLICE(c, k, at)
        y = NEG(new)
        output y, new
        """,
        """
        new = tflgpu.update(c, k, at)
        y = NEG(new)
        """,
    )


def test_updates_one_after_another_and_views_between() -> None:
    becomes(
        """
        input zero int32[3] = 0,1,0
        flat = RESHAPE(c) new_shape=(2,4,3)
        part = RESHAPE(k) new_shape=(1,2,3)
        first = DYNAMIC_UPDATE_SLICE(flat, part, zero)
        whole = RESHAPE(first) new_shape=(8,3)
        new = DYNAMIC_UPDATE_SLICE(whole, k, at)
        output new
        """,
        """
        flat = RESHAPE(c) new_shape=(2,4,3)
        part = RESHAPE(k) new_shape=(1,2,3)
        first = tflgpu.update(flat, part, zero)
        whole = RESHAPE(first) new_shape=(8,3)
        new = tflgpu.update(whole, k, at)
        """,
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("y = NEG(c)\noutput y, new", "c is read elsewhere before it is updated"),
        ("output new, new", "new is an output too"),
    ],
)
def test_others_that_need_the_old_or_new_content(more: str, reason: str) -> None:
    after = [line for line in more.splitlines() if not line.startswith("output")]
    becomes(
        f"new = DYNAMIC_UPDATE_SLICE(c, k, at)\n{more}",
        "\n".join(["new = DYNAMIC_UPDATE_SLICE(c, k, at)", *after, KEPT]),
        reason,
    )


def test_an_update_that_reads_the_old_content_elsewhere() -> None:
    """The kernel would read what it may have written already."""
    update = "new = DYNAMIC_UPDATE_SLICE(c, c, at)"
    reason = "c is read elsewhere before it is updated"
    becomes(f"{update}\noutput new", f"{update}\n{KEPT}", reason)
