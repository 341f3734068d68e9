"""What the outputs of `tflgpu run` show: classes, or what is drawn over a picture."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
from PIL import Image

from ...runtime.errors import InputError
from ..ir import Array
from ..pictures.boxes import LEAST_SCORE as LEAST_BOX
from ..pictures.boxes import boxes_of
from ..pictures.candidates import LAYOUTS
from ..pictures.drawing import Shown
from ..pictures.families import DATA_SETS
from ..pictures.keypoints import LEAST_SCORE as LEAST_POINT
from ..pictures.outputs import (
    Class,
    Output,
    are_probabilities,
    best_classes,
    read_labels,
    scores_of,
)
from ..pictures.picture_file import read_picture
from ..pictures.show import KINDS, class_names, evidence, shown_in
from .options import FilePath, Number, record_options
from .run_results import RunResult
from .shell import note, warn
from .whole_file import write_whole

ARRAYS = ".npz"
# Pillow's format by the suffix of --output.
PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}

UNLABELED = ("image", "keypoints")  # The kinds of --show that name no classes.
SCORED = ("boxes", "keypoints")  # The kinds of --show that leave out what scores too little.


@dataclass(frozen=True)
class Picture:
    """The only picture among the inputs of a run."""

    path: str
    size: tuple[int, int]  # The height and width that it is scaled to.


@dataclass
class Showing:
    """What the options of the command say of the outputs (UsageError, InputError)."""

    labels: Path | None
    output: Path | None
    show: str | None
    layout: str | None
    threshold: float | None
    names: tuple[str, ...] = field(init=False)  # The names of classes in the file of labels.

    def __post_init__(self) -> None:
        if self.layout and self.show not in (None, "boxes"):
            raise click.UsageError(
                f"--layout is that of boxes, but --show {self.show} is asked for"
            )
        self.names = read_labels(self.labels) if self.labels is not None else ()

    @property
    def kind(self) -> str:
        """What the outputs are said to show; empty if that is to be guessed."""
        return "boxes" if self.layout else self.show or ""

    @property
    def draws(self) -> bool:
        """Whether a picture is needed, to draw over it or to say where in it things are."""
        return bool(self.kind or (self.output and self.output.suffix.lower() != ARRAYS))

    def check(self, picture: Picture | None) -> None:
        """InputError if a picture is needed and there is none."""
        if picture is None and self.draws:
            raise InputError(
                "there is no picture to draw over: exactly one input must be a picture"
            )

    def add(
        self, result: RunResult, outputs: Sequence[Output], picture: Picture | None
    ) -> Shown | None:
        """Add to a result what its outputs show, and return what can be drawn (InputError).

        Notes say what is guessed, and warnings which options are ignored.
        """
        kind, shown = self._found(result.plan.model, outputs, picture) or ("", None)
        if self.names and kind in UNLABELED:
            warn(f"--labels is ignored: --show {kind} names no classes")
        if self.threshold is not None and kind not in SCORED:
            warn("--threshold is ignored: neither boxes nor points are shown")
        if shown is not None:
            result.kind, result.records, result.nothing = kind, shown.records(), shown.nothing()
            return shown
        scores = scores_of(outputs)
        result.probable = scores is not None and are_probabilities(scores)
        result.classes = self._classes(outputs, scores, picture)
        if picture is not None and not result.classes:
            guesses = evidence(outputs, self.names, picture.size)
            # Boxes that outputs can have are those that were looked for.
            for guess, why in [each for each in guesses if each[0] != "boxes"][:1]:
                note(f"{why}; --show {guess} --output FILE.png draws it")
        return None

    def _found(
        self, model: str, outputs: Sequence[Output], picture: Picture | None
    ) -> tuple[str, Shown] | None:
        """What the outputs show, if that is asked for or they are boxes."""
        if not self.draws and (picture is None or boxes_of(outputs, self.names) is None):
            return None
        assert picture is not None
        data_set = "" if self.names else class_names(outputs, model)
        names = self.names or DATA_SETS.get(data_set, ())
        kind = self.kind or ("" if self.draws else "boxes")
        found = shown_in(outputs, names, kind, self.layout or "", picture.size, self.threshold)
        if not kind:
            because = dict(evidence(outputs, self.names, picture.size))[found[0]]
            note(f"shown as {found[0]}: {because}; --show {'|'.join(KINDS)} chooses")
        if data_set and found[0] == "mask":
            note(f"classes are named as in {data_set}, which is a guess; --labels FILE names them")
        return found

    def _classes(
        self, outputs: Sequence[Output], scores: Output | None, picture: Picture | None
    ) -> list[Class]:
        """The best classes, if outputs are scores of classes (InputError if labels do not fit)."""
        if scores is None:
            if self.names:
                listed = ", ".join(f"{output.name} {list(output.shape)}" for output in outputs)
                raise InputError(
                    f"--labels: no output has one score per class; if they name boxes or a mask, "
                    f"add --show boxes or --show mask; the outputs are {listed}"
                )
            return []
        names, count = self.names or scores.labels, scores.values.size
        if not names and not (picture and are_probabilities(scores)):
            return []
        if not names:
            note("the model's metadata has no labels; give them with --labels FILE")
        elif count > len(names):
            raise InputError(
                f"--labels: output {scores.name} has {count} classes, but the file has "
                f"{len(names)} labels"
            )
        elif count < len(names):
            warn(f"{len(names)} labels for {count} classes; is it the right file?")
        return best_classes(scores, names)

    def write(
        self, results: Mapping[str, Array], shown: Shown | None, picture: Picture | None
    ) -> None:
        """Write the file of --output, if there is to be one (Failure)."""
        if self.output is None:
            return
        content = io.BytesIO()
        if self.output.suffix.lower() == ARRAYS:
            _write_arrays(content, results)
        else:
            assert shown is not None and picture is not None
            drawn: Image.Image = shown.draw(read_picture(picture.path))
            drawn.save(content, PICTURES[self.output.suffix.lower()])
        write_whole(self.output, content.getvalue())


# The options for what outputs show, which a command gets as `showing`.
show_options = record_options(
    Showing,
    "showing",
    click.option(
        "--labels",
        type=FilePath(),
        help="A file of class names, one per line; default: those in the model's metadata.",
    ),
    click.option(
        "--output",
        type=FilePath((ARRAYS, *PICTURES)),
        metavar="FILE.npz|FILE.png",
        help="Write all outputs to a .npz file, or the picture with what they show.",
    ),
    click.option(
        "--show",
        type=click.Choice(list(KINDS)),
        help="What the outputs show of the picture; default: what their shapes suggest.",
    ),
    click.option(
        "--layout",
        type=click.Choice(list(LAYOUTS)),
        help="How candidates for boxes lie in the output of a detector without postprocessing; "
        "default: what its shape and the number of labels allow.",
    ),
    click.option(
        "--threshold",
        type=Number(0, 1),
        help=f"The least score of boxes, {LEAST_BOX} by default, or of points that are drawn, "
        f"{LEAST_POINT} by default.",
    ),
)


def _write_arrays(content: io.BytesIO, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file; strings become fixed-width bytes, which drops zeros at their ends.

    Unlike numpy's writer, this one accepts any name, such as `file`.
    """
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                plain = array.astype("S") if array.dtype.kind == "O" else np.asarray(array)
                np.lib.format.write_array(file, plain, allow_pickle=False)
