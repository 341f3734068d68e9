"""JSON of the right types becomes records; what has others is refused, with the field at fault."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from tflgpu.runtime.typed_json import Form, typed


@dataclass(frozen=True)
class Part:
    size: Annotated[int, Form("size", lambda size: size > 0)]


@dataclass(frozen=True)
class Whole:
    name: str
    seconds: float
    parts: tuple[Part, ...]
    by_name: Mapping[str, Part]
    other: Any
    tags: tuple[str, ...] = ()
    pair: tuple[int, float] | None = None


WHOLE: dict[str, Any] = {
    **{"name": "a", "seconds": 3, "parts": [{"size": 5}], "by_name": {"b": {"size": 7}}},
    **{"other": [None], "unknown": 1},
}


def test_a_record_with_others_in_it() -> None:
    found = typed(Whole, WHOLE)
    assert found == Whole("a", 3.0, (Part(5),), {"b": Part(7)}, [None])
    assert type(found.seconds) is float
    assert typed(Whole, {**WHOLE, "tags": ["c"]}).tags == ("c",)
    assert typed(Whole, {**WHOLE, "pair": [1, 2]}).pair == (1, 2.0)
    assert typed(Whole, {**WHOLE, "pair": None}).pair is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": 7}, "wrong type of name"),
        ({"seconds": True}, "wrong type of seconds"),
        ({"seconds": 10**400}, "wrong type of seconds"),
        ({"parts": {}}, "wrong type of parts"),
        ({"parts": [{}]}, "without size"),
        ({"parts": [{"size": 1.5}]}, "wrong type of size"),
        ({"by_name": {"b": {"size": 0}}}, "0 is not a size"),
        ({"tags": [None]}, "wrong type of tags"),
        ({"pair": [1]}, "wrong type of pair"),
        ({"pair": ["1", 2]}, "wrong type of pair"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        typed(Whole, {**WHOLE, **changed})


def test_what_is_no_object() -> None:
    with pytest.raises(ValueError, match="wrong type of it"):
        typed(Whole, [WHOLE])
    with pytest.raises(ValueError, match="without name, seconds, parts, by_name, other"):
        typed(Whole, {})
