"""The page of the Python interface, from the signatures and docstrings of the package."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, get_origin

import tflgpu
from tflgpu.runtime.plan import codec

ERRORS = "Error", "Warning"  # The ends of the names of exceptions.
WIDTH = 100  # Characters of a line of code.

# The types behind those that say, too, how a plan stores a number.
PLAIN = {
    name: found.__origin__.__name__
    for name, found in vars(codec).items()
    if get_origin(found) is Annotated
}


def api_markdown() -> str:
    """Functions, classes with their methods and fields, then exceptions."""
    names = [name for name in tflgpu.__all__ if not name.startswith("_")]
    exceptions = [name for name in names if name.endswith(ERRORS)]
    others = [name for name in names if name not in exceptions]
    # Functions begin with a small letter, and come first.
    entries = [line for name in sorted(others, key=str.swapcase) for line in _entry(name)]
    rows = [f"| `{name}` | {_first(getattr(tflgpu, name))} |" for name in exceptions]
    table = ["## Errors and warnings", "", "| name | meaning |", "|---|---|", *rows]
    return "\n".join([*entries, *table]) + "\n"


def _entry(name: str) -> Iterator[str]:
    value = getattr(tflgpu, name)
    yield from (f"## {name}", "")
    yield from _block(_signature(f"tflgpu.{name}", value), inspect.getdoc(value))
    members = vars(value) if inspect.isclass(value) else {}
    for member, found in members.items():
        if not member.startswith("_") and getattr(found, "__doc__", None):
            if isinstance(found, property):
                yield from _block(f"{name}.{member}", inspect.getdoc(found))
            elif inspect.isfunction(found):
                yield from _block(_signature(f"{name}.{member}", found), inspect.getdoc(found))


def _block(head: str, doc: str | None) -> Iterator[str]:
    yield from ("```text", head, *textwrap.indent(doc or "", "    ").splitlines(), "```", "")


def _signature(name: str, value: Any) -> str:
    """A call, with a parameter in each line if it is long; without `self`."""
    types = dict(_types(value))
    shown: list[str] = []
    for each in inspect.signature(value).parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        if each.name != "self":
            shown.append(_parameter(each, types))
    result = f" -> {types['return']}" if "return" in types else ""
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){result}"])


def _types(value: Any) -> Iterator[tuple[str, str]]:
    """The types of the parameters, and of what a function returns."""
    if inspect.isclass(value) and not is_dataclass(value):
        value = value.__init__
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    if isinstance(tree, ast.ClassDef):
        fields = [each for each in tree.body if isinstance(each, ast.AnnAssign)]
        yield from ((ast.unparse(each.target), _type(each.annotation)) for each in fields)
    elif isinstance(tree, ast.FunctionDef):
        parameters = [*tree.args.args, *tree.args.kwonlyargs]
        yield from ((each.arg, _type(each.annotation)) for each in parameters if each.annotation)
        if tree.returns:
            yield "return", _type(tree.returns)


def _type(annotation: ast.expr) -> str:
    """A type as the source names it, but for those of `PLAIN`."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            node.id = PLAIN.get(node.id, node.id)
    return ast.unparse(annotation)


def _parameter(parameter: inspect.Parameter, types: Mapping[str, str]) -> str:
    annotated = parameter.name
    if parameter.name in types:
        annotated += f": {types[parameter.name]}"
    if parameter.default is parameter.empty:
        return annotated
    default = repr(parameter.default)
    return f"{annotated} = {default if len(default) < WIDTH // 2 else '...'}"


def _first(value: Any) -> str:
    """The first sentences of a docstring, in one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
