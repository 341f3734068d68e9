"""The bar that `load` shows on a terminal while a driver compiles, and nowhere else."""

import io
from threading import Event

import pytest

from tflgpu.runtime.api import BUILD, Loading
from tflgpu.runtime.waiting import waiting


class Terminal(io.StringIO):
    """Says when something has been written."""

    def __init__(self, terminal: bool = True) -> None:
        super().__init__()
        self.terminal, self.written = terminal, Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


def test_the_bar_says_what_is_done_and_is_cleared() -> None:
    stream = Terminal()
    with waiting("compile", stream, patience=0):
        assert stream.written.wait(60)
    first, *_, blank, end = stream.getvalue().split("\r")[1:]
    assert first == "compile [======                  ]   0 s"
    assert not blank.strip() and len(blank) >= len(first) and not end


def test_nothing_is_shown_of_what_is_over_soon() -> None:
    stream = Terminal()
    with waiting("compile", stream, patience=60):
        pass
    assert not stream.getvalue()


def test_only_a_terminal_has_a_bar() -> None:
    stream = Terminal(terminal=False)
    with waiting("compile", stream, patience=0):
        assert not stream.written.wait(0.3)


@pytest.mark.parametrize("shows", [True, False])
def test_loading_shows_the_step_that_takes_long(
    shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr("tflgpu.runtime.api.waiting", lambda name: waiting(name, stream, 0.0))
    loading = Loading(shows=shows)
    with loading.step("open the device"):
        assert not stream.written.wait(0.3)
    with loading.step(BUILD):
        assert stream.written.wait(60 if shows else 0.3) == shows
