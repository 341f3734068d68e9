"""`tflgpu edit`: try a kernel that was changed by hand, and keep it in its variant."""

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from ....runtime.errors import BuildError, InputError
from ...tools.comparison import Comparison
from ...tools.editing.edit import (
    Trial,
    check_editable,
    edit_kernel,
    find_kernel,
    read_source,
    revert_kernel,
)
from ...tools.editing.launches import LaunchTrial
from ..chosen_variant import Wanted, newest_variant
from ..input_arrays import InputValues, input_options
from ..options import FilePath, Number, attached_option, cache_argument, model_option
from ..printing import JSON, Answer, Column, Listing, full_names_option, json_option
from ..shell import Command, Failure, asked_for, note
from ..stages import progress
from ..whole_file import write_whole

# The line in a message of a driver's compiler: `file:23:17` or, of Mesa, `0:23(17)`.
_LINE = re.compile(r":(\d+)[:(]\d+")


@full_names_option
@click.command(cls=Command, short_help="Try a kernel changed by hand, and keep it.")
@cache_argument
@click.argument("kernel")
@click.argument("file", required=False, type=FilePath())
@model_option
@click.option("--keep", is_flag=True, help="Store the kernel in CACHE if all results agree.")
@click.option("--revert", is_flag=True, help="Put the compiler's text of an edited kernel back.")
@attached_option
@input_options
@click.option(
    "--tolerance",
    type=Number(min=0.0),
    help="The error allowed, relative to the largest absolute value or to 1. Default: 1e-4, or "
    "1e-2 for f16.",
)
@json_option
def edit(
    cache: Path,
    kernel: str,
    file: Path | None,
    model: str | None,
    keep: bool,
    revert: bool,
    device: str,
    given: InputValues,
    tolerance: float | None,
) -> None:
    """Try a changed KERNEL of CACHE, a cache folder or a variant's folder.

    KERNEL is an index, a name or a part of one, as `tflgpu inspect` prints them. FILE, by default
    KERNEL's name in the current folder, has the changed text; if there is no such file, it is
    written with the present text, for you to change it and to run the command again.

    The changed kernel is compared with the original in each of its launches and in the whole
    model, with LiteRT if --model is the model's file, and both are timed. The exit code is 1 if the
    results differ.
    """
    if revert and (keep or file):
        raise click.UsageError("--revert takes neither --keep nor a FILE")
    variant = newest_variant(cache, Wanted(model))
    index = find_kernel(variant.plan, kernel)
    record = variant.plan.kernels[index]
    check_editable(variant.plan, index)
    said = {"path": variant.folder, "kernel": record.name}
    if revert:
        revert_kernel(variant.folder, index)
        Answer(said, [f"{record.name} is as compiled"]).print()
        return
    present = variant.sources[record.file]
    file = file or Path(record.name).with_suffix(Path(record.file).suffix)
    if not file.exists():
        write_whole(file, present.encode())
        told = f"{file} has the text of {record.name}: change it, then run this command again"
        Answer({**said, "file": file}, [told]).print()
        return
    text = read_source(file)
    if text == present:
        raise InputError(f"{file} has the present text of {record.name}: change it first")
    path = Path(model) if model is not None and Path(model).is_file() else None
    arrays = given.with_random().read_for(variant.plan)
    with progress() as show:
        show("compare", 0, 1)
        try:
            trial = edit_kernel(
                variant.folder,
                index,
                file,
                model=path,
                inputs=arrays,
                device=device,
                tolerance=tolerance,
                keep=keep,
            )
        except BuildError as error:
            raise Failure(_with_lines(error, text)) from error
    _answer(trial).print()
    if not trial.ok:
        wrong = "".join(f"\n  {text}" for text in _wrong(trial))
        raise Failure(f"the results of {trial.kernel} differ:{wrong}")
    if not asked_for(JSON):
        _tell(trial, path is not None)


def _with_lines(error: BuildError, source: str) -> str:
    """The message of a driver's compiler, each line with the line of the kernel that it names."""
    lines = source.splitlines()
    shown = [str(error).partition("\n")[0]]
    for message in error.log.splitlines():
        shown.append(message)
        found = _LINE.search(message)
        if found and 0 < int(found[1]) <= len(lines):
            shown.append(f"  {found[1]} | {lines[int(found[1]) - 1].strip()}")
    return "\n".join(shown)


def _wrong(trial: Trial) -> Iterator[str]:
    for launch in trial.launches:
        yield from (f"{item} ({launch.label})" for item in launch.outputs if not item.ok)
    for whose, outputs in (("the original kernel", trial.outputs), ("LiteRT", trial.litert)):
        yield from (f"output {item} (compared with {whose})" for item in outputs if not item.ok)


def _tell(trial: Trial, litert: bool) -> None:
    if trial.kept:
        click.echo(f"kept in {trial.folder}")
    else:
        note("add --keep to store the kernel in the variant")
    if not litert:
        note("give the model's file with --model to compare with LiteRT as well")


COMPARED = [*map(Column, ("name", "ok", "max_error", "tolerance", "problem"))]

LAUNCHES = (
    Column("label", "operators", names=True),
    Column("", "largest error", lambda each: _largest("max_error", each), "{:.3g}", right=True),
    Column("", "allowed", lambda each: _largest("tolerance", each), "{:.3g}", right=True),
    Column("before", "original us", text=lambda each: f"{each.before * 1e6:.1f}", right=True),
    Column("after", "edited us", text=lambda each: f"{each.after * 1e6:.1f}", right=True),
    Column("ratio", "ratio", text="{:.2f}", right=True),
    Column("outputs", value=lambda launch: _compared(launch.outputs)),
)

OUTPUTS = (
    Column("", "output", text=lambda row: row[1].name),
    Column("", "compared with", text=itemgetter(0)),
    Column("", "largest error", lambda row: row[1].max_error, "{:.3g}", right=True),
    Column("", "allowed", lambda row: row[1].tolerance, "{:.3g}", right=True),
    Column("", "verdict", text=lambda row: row[1].verdict),
)


def _answer(trial: Trial) -> Answer:
    launches = Listing(f"Launches of {trial.kernel}", LAUNCHES, trial.launches)
    rows = [("the original kernel", item) for item in trial.outputs]
    rows += [("LiteRT", item) for item in trial.litert]
    before, after = trial.before * 1e3, trial.after * 1e3
    whole = f"the whole model: {before:.3f} ms, edited {after:.3f} ms, ratio {trial.ratio:.2f}"
    said = {
        **{key: getattr(trial, key) for key in ("ok", "kernel", "kept", "before", "after")},
        **{"ratio": trial.ratio, "path": trial.folder, "launches": launches},
        **{"outputs": _compared(trial.outputs), "litert": _compared(trial.litert)},
    }
    return Answer(said, [launches, Listing("Outputs of the model", OUTPUTS, rows), whole])


def _compared(items: Sequence[Comparison]) -> list[dict[str, Any]]:
    return Listing("", COMPARED, items).objects()


def _largest(name: str, launch: LaunchTrial) -> float:
    return max(float(getattr(item, name)) for item in launch.outputs)
