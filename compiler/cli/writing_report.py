"""`tflgpu inspect --html`: the report of a variant, written into a file."""

from pathlib import Path

from ...runtime.cache.variant import Variant
from ..tools.machine_code import Compiler
from .chosen_variant import Wanted, newest_variant
from .machine_code import machine_code
from .stages import progress
from .whole_file import write_whole


def write_report(
    variant: Variant,
    path: Path,
    model: str | None,
    profile: Path | None,
    compare: Path | None,
    compiler: Compiler | None,
) -> None:
    """Write the report of a variant as an HTML page.

    `model` is what --model says; only the model's file has the graph before rewriting. `compare` is
    a profile, or a folder with another variant of the model. With
    `compiler` the page shows what it makes of each kernel. The file appears complete or not at all
    (Failure).
    """
    # Imported here because importing Pygments takes longer than running any other command.
    from ..report.contents import contents
    from ..report.decisions import decide
    from ..report.page import page
    from ..report.profile import read_profile

    measured = read_profile(profile) if profile else None
    other = newest_variant(compare, Wanted(model)) if compare and compare.is_dir() else None
    earlier = read_profile(compare) if compare and other is None else None
    decisions = None
    if model is not None and Path(model).is_file():
        with progress() as show:
            decisions = decide(Path(model), variant.plan, show)
    code = machine_code(variant, compiler) if compiler else {}
    text = page(contents(variant, decisions, measured, earlier, code, other))
    # Names from files may hold halves of surrogate pairs, which UTF-8 cannot.
    write_whole(path, text.encode(errors="backslashreplace"))
