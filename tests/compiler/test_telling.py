"""Warnings: whom they name, and who gets them."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tflgpu.compiler.telling import tell, told
from tflgpu.runtime.errors import TflgpuWarning


def test_threads_get_their_own_warnings_each_once() -> None:
    both = Barrier(2, timeout=10)

    def work(name: str) -> list[str]:
        with told() as found:
            both.wait()
            for _ in range(2):
                tell(TflgpuWarning(name))
            both.wait()
        return list(map(str, found))

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(work, ("a", "b"))) == [["a"], ["b"]]


def test_a_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(TflgpuWarning, match="why") as found:
        tell(TflgpuWarning("why"))
    assert found[0].filename == __file__
