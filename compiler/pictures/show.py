"""What outputs show of a picture, found by their shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...runtime.errors import InputError
from .boxes import boxes_of
from .candidates import candidates_of
from .drawing import Shown
from .feature_image import image_of
from .keypoints import has_poses, keypoints_of
from .masks import mask_of
from .outputs import Output

KINDS: Mapping[str, Callable[[Sequence[Output], Sequence[str]], Shown | None]] = {
    "boxes": boxes_of,
    "mask": mask_of,
    "keypoints": keypoints_of,
    "image": image_of,
}
"""What outputs can show, and the function that finds it in them, given the names of classes."""


def shown_in(
    outputs: Sequence[Output],
    names: Sequence[str],
    kind: str = "",
    layout: str = "",
    size: tuple[int, int] = (1, 1),
) -> tuple[str, Shown]:
    """What the outputs show: of this kind or, if it is empty, of the kind their shapes suggest.

    `layout` is that of candidates for boxes, one of LAYOUTS, and `size` the height and width of the
    model's picture. InputError if they show nothing of the kind.
    """
    for each in (kind,) if kind else _likely(outputs):
        found = None if layout else KINDS[each](outputs, names)
        if found is None and each == "boxes":
            found = candidates_of(outputs, names, layout, size)
        if found is not None:
            return each, found
    listed = ", ".join(f"{output.name} {list(output.shape)}" for output in outputs)
    raise InputError(
        f"the outputs show no {kind or 'boxes, mask, keypoints or image'}: {listed}; write them "
        f"as they are with --output FILE.npz"
    )


def _likely(outputs: Sequence[Output]) -> tuple[str, ...]:
    """The kinds to try, in order; heatmaps look like masks, so they are shown only if asked."""
    if any(output.shape[:2] == (1, 1) and output.shape[3:] == (3,) for output in outputs) or any(
        map(has_poses, outputs)
    ):
        return ("keypoints",)
    # Three channels are more often colors than classes.
    if any(output.values.ndim == 4 and output.shape[3] == 3 for output in outputs):
        return ("boxes", "image")
    return ("boxes", "mask")
