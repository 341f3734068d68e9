"""The variants of a cache that a command shows or exports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...runtime.cache.folder import newest_first
from ...runtime.cache.variant import Variant, read_variant
from ...runtime.errors import PlanError
from ...runtime.input_shapes import specialized
from ...runtime.plan.records import Plan
from .options import model_option, record_options, shape_option, signature_option
from .shell import note


@dataclass(frozen=True)
class Wanted:
    """What the options of a command say of which model in a cache to take."""

    model: str | None
    signature: str | None = None
    # The input shapes, by name; none for the first ones.
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


# The options for a model in a cache, which a command gets as `wanted`.
wanted_options = record_options(Wanted, "wanted", model_option, signature_option, shape_option)


def newest_variant(cache: Path, wanted: Wanted, target: str | None = None) -> Variant:
    """The variant compiled last, of a model if there are several; others are listed on stderr.

    With a target, only its variants count. PlanError if there is none or it is damaged, InputError
    if it is not for the signature or the shapes.
    """
    (newest, _), *others = _variants(cache, wanted.model, target)
    if others:
        listed = "".join(f"\n  {folder}" for folder, _ in others)
        note(f"this is the variant compiled last; the others are{listed}")
    return specialized(read_variant(newest), wanted.shapes, wanted.signature)


def variants_for(
    cache: Path, wanted: Wanted, target: str | None, profiles: Sequence[str]
) -> list[Variant]:
    """The variant compiled last for each device profile (PlanError); see `newest_variant`."""
    newest: dict[str, Path] = {}
    for folder, plan in _variants(cache, wanted.model, target):
        newest.setdefault(plan.profile, folder)
    for profile in profiles:
        if profile not in newest:
            present = ", ".join(newest)
            raise PlanError(
                f"{cache} has no variant for {profile}, only for {present}; compile it with: "
                f"tflgpu-compile MODEL -o {cache} --device {profile}"
            )
    found = [read_variant(newest[profile]) for profile in dict.fromkeys(profiles)]
    return [specialized(variant, wanted.shapes, wanted.signature) for variant in found]


def _variants(cache: Path, model: str | None, target: str | None) -> list[tuple[Path, Plan]]:
    """The variants' folders with their plans, the newest first."""
    found = newest_first(cache, model)
    fitting = [each for each in found if target in (None, each[1].target)]
    if not fitting:
        raise PlanError(f"{cache} has no variant for {target}; compile with --target {target}")
    return fitting
