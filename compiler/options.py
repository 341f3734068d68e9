"""The options of a compilation: everything a user can choose that changes its output."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Literal, TypeGuard, get_args

from .errors import OptionError
from .formats import input_format, output_format

TargetName = Literal["opencl", "glsl", "vulkan", "metal", "wgsl"]
Precision = Literal["f32", "f32_f16", "f16"]
Fallback = Literal["litert", "none"]
Nan = Literal["keep", "any"]

TARGETS: tuple[str, ...] = get_args(TargetName)
PRECISIONS: tuple[str, ...] = get_args(Precision)
FALLBACKS: tuple[str, ...] = get_args(Fallback)
NANS: tuple[str, ...] = get_args(Nan)

ALL = ("all",)
"""As the signatures to compile: all that the model has."""

FOR_OTHER_RUNTIMES: tuple[TargetName, ...] = ("vulkan", "metal")
"""Targets whose kernels neither tflgpu's own runtime nor the exported one runs."""


@dataclass(frozen=True)
class Options:
    """Options of a compilation; the keyword arguments of `tflgpu.compile`."""

    target: TargetName = "opencl"
    """Language of the kernels; tflgpu's own runtime does not run plans for vulkan and metal."""
    precision: Precision = "f32"
    """f32; f32_f16, which stores weights and slices of activations in half precision, and computes
    in single; or f16, which also multiplies and adds in half where the profile says so."""
    device: str = "auto"
    """"auto", part of the name of an attached device, or the name or file of a device profile."""
    fallback: Fallback = "litert"
    """Where operators run that the device cannot run: "litert", with a FallbackWarning that lists
    them; or "none", which makes them an UnsupportedError."""
    fallback_ops: tuple[str | int, ...] = ()
    """Names and indices of operators to run on LiteRT in any case."""
    custom_ops: tuple[str, ...] = ()
    """Names of operators that functions of the application compute, given to `tflgpu.load`."""
    signature: tuple[str, ...] = ()
    """The model's signatures to compile, which also name inputs and outputs; `ALL` for all of them,
    () for the first subgraph under its own tensor names."""
    tuning: str = ""
    """Path of a tuning table, as `tflgpu compile --tune` writes it; "" for none. In a plan: a
    digest of the table's entries for the plan's kernels."""
    input_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Input shapes, by name, that replace the model's. With several for each name, the first ones
    of all names together are the first choice, and so on; see `each_choice`."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Formats of inputs, by name, such as "rgba8, mean=127.5, std=127.5"; see `formats`."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Formats of outputs, by name, such as "softmax"."""
    keep: tuple[tuple[str, str], ...] = ()
    """Outputs that stay on the device as the inputs that they update: pairs of their names, in
    which one `*` stands for any text."""
    disable_passes: tuple[str, ...] = ()
    """Names of rewrites to leave out, for finding the one at fault."""
    keep_f32: tuple[str | int, ...] = ()
    """Operators, by name or index or by a tensor that they compute, whose weights, inputs and
    outputs stay in single precision although the rest is in half."""
    nan: Nan = "keep"
    """What RELU, MAXIMUM and other limits make of NaN: "keep" hands it on as LiteRT does; with
    "any" they may return any number, which takes fewer instructions."""
    keep_intermediates: bool = False
    """Give every intermediate tensor its own memory, so that all can be read after a run."""

    def __post_init__(self) -> None:
        """OptionError that names the field and its valid values."""
        for name, choices in (
            ("target", TARGETS),
            ("precision", PRECISIONS),
            ("fallback", FALLBACKS),
            ("nan", NANS),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise OptionError(f"{name}={value!r}: choose one of {', '.join(choices)}")
        if not isinstance(self.device, str):
            raise OptionError(f"device={self.device!r}: give a name as a string, such as 'auto'")
        if not isinstance(self.tuning, str):
            raise OptionError(
                f"tuning={self.tuning!r}: give the path of a tuning table as a string"
            )
        if not _all_strings(self.custom_ops):
            raise OptionError(f"custom_ops={self.custom_ops!r}: give a tuple of operator names")
        if not _all_strings(self.disable_passes):
            raise OptionError(f"disable_passes={self.disable_passes!r}: give a tuple of names")
        if not _all_strings(self.signature) or len(set(self.signature)) < len(self.signature):
            raise OptionError(
                f"signature={self.signature!r}: give a tuple of different names of signatures"
            )
        for name in ("fallback_ops", "keep_f32"):
            object.__setattr__(self, name, _names_or_positions(name, getattr(self, name)))
        if self.keep_f32 and self.precision == "f32":
            raise OptionError(
                f"keep_f32={self.keep_f32!r}: with precision='f32' all operators are in single "
                f"precision; leave it out or choose precision='f16'"
            )
        if self.fallback_ops and self.fallback == "none":
            raise OptionError(
                f"fallback_ops={self.fallback_ops!r}: nothing runs on LiteRT with fallback='none'; "
                f"leave one of them out"
            )
        if not isinstance(self.input_shapes, tuple) or not all(
            map(_names_shape, self.input_shapes)
        ):
            raise OptionError(
                f"input_shapes={self.input_shapes!r}: give a tuple of (name, shape) pairs, such as "
                f'(("image", (1, 224, 224, 3)),)'
            )
        named = Counter(name for name, _ in self.input_shapes)
        if len(set(named.values())) > 1 and not self.several_signatures:
            counts = ", ".join(f"{count} for {name}" for name, count in named.items())
            raise OptionError(
                f"input_shapes has {counts}: give as many for each input, since the first ones of "
                f"all inputs are used together, then the second ones, and so on"
            )

        if not isinstance(self.keep, tuple) or not all(map(_is_pair_of_names, self.keep)):
            raise OptionError(
                f"keep={self.keep!r}: give a tuple of pairs of an output and an input, such as "
                f'(("cache_out", "cache_in"),), with at most one `*` in both'
            )
        for name, parse in (("inputs", input_format), ("outputs", output_format)):
            formats = getattr(self, name)
            if not isinstance(formats, tuple) or not all(map(_is_pair, formats)):
                raise OptionError(
                    f"{name}={formats!r}: give a tuple of (name, format) pairs, such as "
                    f'(("image", "rgba8"),)'
                )
            if len(dict(formats)) < len(formats):
                raise OptionError(f"{name}={formats!r}: give one format for each name")
            for key, text in formats:
                parse(key, text)

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


def _all_strings(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def _names_or_positions(option: str, value: object) -> tuple[str | int, ...]:
    """A list or tuple of operator names and indices as a tuple (OptionError)."""
    if not isinstance(value, (list, tuple)) or not all(type(item) in (str, int) for item in value):
        raise OptionError(
            f"{option}={value!r}: give operators by name or index, such as ('TOPK_V2', 3)"
        )
    return tuple(value)


def _is_pair(item: object) -> TypeGuard[tuple[str, object]]:
    """Whether an item is a pair of a name and something else."""
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def _is_pair_of_names(item: object) -> bool:
    """Whether an item is a pair of names with at most one `*`, and as many in both."""
    if not _is_pair(item) or not isinstance(item[1], str):
        return False
    return item[0].count("*") == item[1].count("*") <= 1


def _names_shape(item: object) -> bool:
    """Whether an item is a pair of a name and a tuple of sizes."""
    if not _is_pair(item):
        return False
    return isinstance(item[1], tuple) and all(isinstance(size, int) for size in item[1])
