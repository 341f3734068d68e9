"""The options of a compilation: everything a user can choose that changes its output."""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from .errors import OptionError
from .formats import input_format, output_format

TargetName = Literal["opencl", "glsl", "vulkan", "metal", "wgsl"]
Precision = Literal["f32", "f32_f16", "f16"]
Fallback = Literal["litert", "none"]
Nan = Literal["keep", "any"]

TARGETS: tuple[str, ...] = get_args(TargetName)

ALL = ("all",)  # As the signatures to compile: all that the model has.

# Targets whose kernels neither tflgpu's own runtime nor the exported one runs.
FOR_OTHER_RUNTIMES: tuple[TargetName, ...] = ("vulkan", "metal")

_OPERATORS = "operators by name or index, such as ('TOPK_V2', 3)"
# What to give for an option that does not have the form of its type hint.
_FORMS = {
    "device": "a name as a string, such as 'auto'",
    "fallback_ops": _OPERATORS,
    "custom_ops": "a tuple of operator names",
    "signature": "a tuple of different names of signatures",
    "tuning": "the path of a tuning table as a string",
    "input_shapes": 'a tuple of (name, shape) pairs, such as (("image", (1, 224, 224, 3)),)',
    "keep": "a tuple of pairs of an output and an input, such as "
    '(("cache_out", "cache_in"),), with at most one `*` in both',
    "disable_passes": "a tuple of names",
    "keep_f32": _OPERATORS,
    "cut_tables": "True or False",
    "keep_intermediates": "True or False",
}

_hints = cache(get_type_hints)


@dataclass(frozen=True)
class Options:
    """Options of a compilation: the keyword arguments of `tflgpu.compile`, which describes them,
    and whether this is one of several choices, whose kernels read the same weights.

    What that takes as a sequence or a mapping are tuples here, so that options can be keys.
    """

    target: TargetName = "opencl"
    precision: Precision = "f32"
    device: str = "auto"
    fallback: Fallback = "litert"
    fallback_ops: tuple[str | int, ...] = ()
    custom_ops: tuple[str, ...] = ()
    # `ALL` for all of them, () for the first subgraph under its own tensor names.
    signature: tuple[str, ...] = ()
    # "" for none. In a plan: a digest of the table's entries for the plan's kernels.
    tuning: str = ""
    # With several for each name, the first ones of all names together are the first choice, and so
    # on; see `each_choice`.
    input_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    cut_tables: bool = False
    keep: tuple[tuple[str, str], ...] = ()  # Pairs of an output and the input that it updates.
    disable_passes: tuple[str, ...] = ()
    keep_f32: tuple[str | int, ...] = ()
    nan: Nan = "keep"
    keep_intermediates: bool = False
    # Set by `each_choice`.
    shares_weights: bool = False

    def __post_init__(self) -> None:
        """OptionError that names the field and its valid values."""
        for name, hint in _hints(Options).items():
            if get_origin(hint) is Literal and getattr(self, name) not in get_args(hint):
                raise self._invalid(name, f"choose one of {', '.join(get_args(hint))}")
            if name in _FORMS and not _has_form(getattr(self, name), hint):
                raise self._invalid(name, f"give {_FORMS[name]}")
        if len(set(self.signature)) < len(self.signature):
            raise self._invalid("signature", f"give {_FORMS['signature']}")
        if any(not output.count("*") == name.count("*") <= 1 for output, name in self.keep):
            raise self._invalid("keep", f"give {_FORMS['keep']}")
        if self.keep_f32 and self.precision == "f32":
            raise self._invalid(
                "keep_f32",
                "with precision='f32' all operators are in single precision; leave it out or "
                "choose precision='f16'",
            )
        if self.fallback_ops and self.fallback == "none":
            raise self._invalid(
                "fallback_ops", "nothing runs on LiteRT with fallback='none'; leave one of them out"
            )
        named = Counter(name for name, _ in self.input_shapes)
        if len(set(named.values())) > 1 and not self.several_signatures:
            counts = ", ".join(f"{count} for {name}" for name, count in named.items())
            raise OptionError(
                f"input_shapes has {counts}: give as many for each input, since the first ones of "
                f"all inputs are used together, then the second ones, and so on"
            )
        for name, parse in (("inputs", input_format), ("outputs", output_format)):
            formats = getattr(self, name)
            if not _has_form(formats, tuple[tuple[str, object], ...]):
                wanted = 'give a tuple of (name, format) pairs, such as (("image", "rgba8"),)'
                raise self._invalid(name, wanted)
            if len(dict(formats)) < len(formats):
                raise self._invalid(name, "give one format for each name")
            for key, text in formats:
                parse(key, text)

    def _invalid(self, name: str, advice: str) -> OptionError:
        return OptionError(f"{name}={getattr(self, name)!r}: {advice}")

    @property
    def several_signatures(self) -> bool:
        """Whether more than one signature may be compiled."""
        return len(self.signature) > 1 or self.signature == ALL

    @property
    def signature_key(self) -> str:
        """The signature of a single choice; "" for the first subgraph under its own names."""
        (key,) = self.signature or ("",)
        return key

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def _has_form(value: object, hint: Any) -> bool:
    """Whether a value is what a type hint says: an instance, or a tuple of such."""
    if get_origin(hint) is not tuple:
        return isinstance(value, hint) and isinstance(value, bool) == (hint is bool)
    if not isinstance(value, tuple):
        return False
    kind, *others = get_args(hint)
    hints = (kind,) * len(value) if others == [...] else (kind, *others)
    return len(value) == len(hints) and all(map(_has_form, value, hints))
