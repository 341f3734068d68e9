"""A test that runs on each of several devices uses them; one that needs any asks for a `driver`."""

import ast
from collections.abc import Iterator

from paths import TESTS

EACH = {"opencl_device", "attached", "way"}  # Fixtures for each of whose devices a test runs.


def unused(source: str) -> Iterator[str]:
    """The tests in a file that ask for a device and do not use it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            asked = {argument.arg for argument in node.args.args} & EACH
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if asked - names:
                yield node.name


def test_each_device_is_used() -> None:
    assert [*unused("def test_a(way): way.target\ndef test_b(way): 1")] == ["test_b"]
    files = TESTS.rglob("test_*.py")
    found = {path.name: [*unused(path.read_text(encoding="utf-8"))] for path in files}
    assert len(found) > 300
    assert {name: tests for name, tests in found.items() if tests} == {}
