"""What outputs show of a picture: of the kind that is asked for, or that there is evidence of."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...runtime.errors import InputError
from .anchors import anchored_of
from .boxes import LEAST_SCORE, Boxes, boxes_of
from .candidates import candidates_of
from .drawing import Shown
from .families import data_set_of
from .keypoints import Keypoints, has_points, has_poses, keypoints_of
from .masks import image_of, is_class_map, mask_of
from .outputs import Output, scores_of
from .poses import poses_of

KINDS = ("boxes", "mask", "keypoints", "image")  # What outputs can show.


def shown_in(
    outputs: Sequence[Output],
    names: Sequence[str],
    kind: str = "",
    layout: str = "",
    size: tuple[int, int] = (1, 1),
    least: float | None = None,
) -> tuple[str, Shown]:
    """What the outputs show: of this kind or, if it is empty, of the kind there is evidence of.

    `names` are those of classes, `layout` is that of candidates for boxes, one of LAYOUTS, `size`
    the height and width of the model's picture, and `least` the least score of boxes and points.
    InputError if the outputs show nothing of the kind, or may show several.
    """
    finders: dict[str, Callable[[], Shown | None]] = {
        "boxes": lambda: _boxes(outputs, names, layout, size, least),
        "mask": lambda: mask_of(outputs, names),
        "image": lambda: image_of(outputs),
        "keypoints": lambda: _points(outputs, size, least),
    }
    for each in (kind,) if kind else [guess for guess, _ in evidence(outputs, names, size)]:
        if (found := finders[each]()) is not None:
            return each, found
    listed = ", ".join(f"{output.name} {list(output.shape)}" for output in outputs)
    if kind:
        problem = f"the outputs show no {kind}"
    else:
        choices = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
        problem = f"it is not clear what the outputs show; say it with --show {choices}"
    if not kind and scores_of(outputs) is not None:
        problem += " (scores of classes are printed, not drawn)"
    raise InputError(
        f"{problem}: {listed}{_anchors(outputs)}; write them as they are with --output FILE.npz"
    )


def _boxes(
    outputs: Sequence[Output],
    names: Sequence[str],
    layout: str,
    size: tuple[int, int],
    least: float | None,
) -> Boxes | None:
    score = LEAST_SCORE if least is None else least
    found = None
    if not layout:
        found = boxes_of(outputs, names, score) or anchored_of(outputs, names, size, score)
    return found or candidates_of(outputs, names, layout, size, score)


def _points(
    outputs: Sequence[Output], size: tuple[int, int], least: float | None
) -> Keypoints | None:
    points = poses_of(outputs, size) or keypoints_of(outputs)
    return points if points is None or least is None else replace(points, least=least)


def evidence(
    outputs: Sequence[Output], names: Sequence[str], size: tuple[int, int]
) -> list[tuple[str, str]]:
    """The kinds that outputs show, the likeliest first, each with what speaks for it.

    Heatmaps of points look like scores of classes, so shapes alone are no evidence of a mask.
    """
    found = []
    if any(map(has_points, outputs)) or any(map(has_poses, outputs)):
        found.append(("keypoints", "an output has y, x and score of points, as MoveNet's"))
    elif poses_of(outputs, size) is not None:
        found.append(("keypoints", "outputs are heatmaps and offsets of points, as PoseNet's"))
    if found:
        return found
    found.append(("boxes", "an output has the edges of boxes"))
    for output in outputs:
        if is_class_map(output):
            found.append(("mask", f"{output.name} holds a class for each pixel"))
        if output.values.ndim != 4 or output.shape[0] != 1 or min(output.shape[1:3]) < 2:
            continue
        _, height, width, channels = output.shape
        whole = height >= size[0] and width >= size[1]
        labels = tuple(names) or output.labels
        if channels == len(labels) > 1:
            found.append(("mask", f"{output.name} has a score for each of {channels} labels"))
        elif channels == 3 and whole:
            found.append(("image", f"{output.name} has three channels, as colors"))
        elif channels == 1:
            found.append(("mask", f"{output.name} has one number for each place"))
        elif whole or data_set_of("", channels):
            found.append(("mask", f"{output.name} has {channels} numbers for each place"))
    return found


def class_names(outputs: Sequence[Output], file: str) -> str:
    """The data set whose classes a mask has that nobody has named; empty if that is not known."""
    for output in outputs:
        if output.labels:
            return ""
        if is_class_map(output):
            return data_set_of(file, 0)
        if output.values.ndim == 4 and data_set_of(file, output.shape[3]):
            return data_set_of(file, output.shape[3])
    return ""


def _anchors(outputs: Sequence[Output]) -> str:
    """What to know of outputs that are relative to anchors, which no model contains."""
    rows = [output.shape[1] for output in outputs if output.values.ndim == 3]
    pairs = len(rows) > len(set(rows)) and max(rows, default=0) > 100
    return "; these look like boxes and scores of anchors, which the application decodes" * pairs
