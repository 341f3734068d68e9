"""Generates the parts of the pages that come from the code.

    python docs/generate.py            updates the pages
    python docs/generate.py --check    lists outdated pages, with exit code 1 if there are any

A generated part lies between the comments `generated: NAME` and `end`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from tflgpu.compiler.cli.listing import operators_markdown
from tflgpu.compiler.codegen.intrinsics import Intrinsic, intrinsics
from tflgpu.compiler.devices import profiles

HERE = Path(__file__).resolve().parent

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

_NAMES = {"opencl": "OpenCL C", "glsl": "GLSL"}
"""Languages with definitions of their own; Vulkan uses those of GLSL."""


def intrinsics_markdown() -> str:
    """The intrinsics of kernels as a table."""
    lines = ["| intrinsic | meaning | defined for |", "|---|---|---|"]
    for entry in intrinsics().values():
        languages = ", ".join(_NAMES[name] for name in _NAMES if name in entry.definitions)
        lines.append(f"| `{_call(entry)}` | {entry.meaning} | {languages} |")
    return "\n".join(lines) + "\n"


def _call(entry: Intrinsic) -> str:
    """An intrinsic with its parameters, taken from its first definition."""
    definition = next(iter(entry.definitions.values()))
    found = re.search(rf"\b{entry.name}(?:\(([^()]*)\))?", definition)
    assert found is not None
    if found[1] is None:
        return entry.name
    names = (parameter.split()[-1] for parameter in found[1].split(",") if parameter)
    return f"{entry.name}({', '.join(names)})"


def profiles_markdown() -> str:
    """The device profiles as a table."""
    lines = ["| profile | for | slices of |", "|---|---|---|"]
    for item in profiles().values():
        lines.append(f"| `{item.name}` | {item.description} | {item.slice_width} |")
    return "\n".join(lines) + "\n"


PARTS: dict[str, Callable[[], str]] = {
    "intrinsics": intrinsics_markdown,
    "operators": operators_markdown,
    "profiles": profiles_markdown,
}
"""The function that generates each part, by the name in its marker."""


def current(text: str) -> str:
    """The text of a page with up-to-date generated parts."""
    return _PART.sub(lambda match: f"{match[1]}{PARTS[match[2]]()}{match[3]}", text)


def main() -> int:
    stale = []
    for page in sorted(HERE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if current(text) != text:
            stale.append(page)
    if "--check" in sys.argv[1:]:
        for page in stale:
            print(f"{page.name} is outdated; run: python docs/generate.py")
        return 1 if stale else 0
    for page in stale:
        page.write_text(current(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
