"""Two profiles compared."""

from tflgpu.compiler.report.changes import Compared, compare
from tflgpu.compiler.report.profile import Profile, Time


def profile(*kernels: tuple[str, tuple[int, ...], float], parts: tuple[Time, ...] = ()) -> Profile:
    """A profile of kernels with these labels, operators and times."""
    times = tuple(Time(*kernel) for kernel in kernels)
    return Profile("m.tflite", "a device", "opencl", "gpu", 1.0, times, parts)


def test_the_same_kernels() -> None:
    now = profile(("a", (0,), 1.0), ("b", (1, 2), 3.0))
    before = profile(("a", (0,), 2.0), ("b", (1, 2), 2.5))
    assert compare(now, before) == [
        Compared((0,), ("a",), 2.0, 1.0, (0,)),
        Compared((1, 2), ("b",), 2.5, 3.0, (1,)),
    ]


def test_what_one_fuses_and_the_other_does_not() -> None:
    """b and c of one side cover what b + c of the other does, and so form one row with it."""
    now = profile(("a", (0,), 1.0), ("b + c", (1, 2), 3.0))
    before = profile(("a", (0,), 1.0), ("b", (1,), 2.0), ("c", (2,), 2.0))
    assert compare(now, before)[1] == Compared((1, 2), ("b + c",), 4.0, 3.0, (1,))
    assert compare(before, now)[1] == Compared((1, 2), ("b", "c"), 3.0, 4.0, (1, 2))


def test_chains_of_shared_operators_are_one_row() -> None:
    now = profile(("x", (0, 1), 1.0), ("y", (2, 3), 1.0))
    before = profile(("p", (0,), 1.0), ("q", (1, 2), 1.0), ("r", (3,), 1.0))
    assert compare(now, before) == [Compared((0, 1, 2, 3), ("x", "y"), 3.0, 2.0, (0, 1))]


def test_kernels_of_one_side_only() -> None:
    """What the compiler added has no operators, and is one row."""
    now = profile(("to_sliced", (), 0.5), ("to_linear", (), 0.25), ("a", (0,), 1.0))
    before = profile(("a", (0,), 1.0), ("b", (7,), 4.0))
    assert compare(now, before) == [
        Compared((), ("to_sliced", "to_linear"), 0.0, 0.75, (0, 1)),
        Compared((0,), ("a",), 1.0, 1.0, (2,)),
        Compared((7,), ("b",), 4.0, 0.0, ()),
    ]


def test_parts_on_litert_count_but_are_no_dispatches() -> None:
    now = profile(("a", (0,), 1.0), parts=(Time("WHERE", (1,), 5.0),))
    before = profile(("a", (0,), 1.0), ("WHERE", (1,), 1.0))
    assert compare(now, before)[1] == Compared((1,), ("WHERE",), 1.0, 5.0, ())
