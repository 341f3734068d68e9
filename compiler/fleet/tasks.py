"""Tasks: which compilations a matrix of models and options consists of."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..devices import names_profile
from ..devices.attached import choose_profile
from ..emit.variant_name import variant_name
from ..errors import ModelError
from ..frontend.model_file import fingerprint
from ..keep_f32 import AUTO, TOLERANCE
from ..options import Options, Precision
from ..sizing.tuning_table import read_table


@dataclass(frozen=True)
class Task:
    """One model to compile with one set of options."""

    model: Path
    # Hex SHA-256 of the model; empty if it cannot be read, for the reason in `unreadable`.
    fingerprint: str
    # As given, but for the name of a device profile in place of an attached device's.
    options: Options
    table: str = ""  # A digest of the tuning table that the options name; empty for none.
    tolerance: float = TOLERANCE
    unreadable: str = ""

    @cached_property
    def variant(self) -> str:
        """The variant's name; empty if only compiling tells it.

        It does if the name depends on which entries of a tuning table the model uses, or on which
        operators a search keeps in single precision.
        """
        options = self.options
        return "" if options.tuning or options.keep_f32 == AUTO else variant_name(options)

    @cached_property
    def request(self) -> str:
        """What decides the variant of a model: the variant's name, or else a digest."""
        if self.variant:
            return self.variant
        searched = self.tolerance if self.options.keep_f32 == AUTO else None
        text = f"{variant_name(replace(self.options, tuning=''))}\0{self.table}\0{searched}"
        return hashlib.sha256(text.encode()).hexdigest()


def for_each(
    options: Options,
    devices: Iterable[str],
    precisions: Iterable[Precision],
    keep_f32: tuple[str | int, ...] = (),
) -> list[Options]:
    """The options for each device with each precision.

    Operators are only kept in single precision where others are not; with f32 as the only
    precision, `keep_f32` is an OptionError.
    """
    chosen = list(precisions)
    return [
        replace(
            options,
            device=device,
            precision=precision,
            keep_f32=() if precision == "f32" and len(chosen) > 1 else keep_f32,
        )
        for device in devices
        for precision in chosen
    ]


def matrix(
    models: Iterable[Path], options: Sequence[Options], tolerance: float = TOLERANCE
) -> list[Task]:
    """A task for each model and each set of options, by model (DeviceError, OptionError)."""
    columns = [(each, _table_digest(each)) for each in dict.fromkeys(map(_for_profile, options))]
    tasks = []
    for model in models:
        digest = unreadable = ""
        try:
            digest = fingerprint(model)
        except ModelError as error:
            unreadable = str(error)
        tasks += [
            Task(model, digest, each, table, tolerance, unreadable) for each, table in columns
        ]
    return tasks


def _for_profile(options: Options) -> Options:
    """The options with a profile in place of a device, unless a search needs the device itself."""
    chosen = choose_profile(options.device, options.target)
    if options.keep_f32 == AUTO or names_profile(options.device):
        return options
    return replace(options, device=chosen.name)


def _table_digest(options: Options) -> str:
    if not options.tuning:
        return ""
    path = Path(options.tuning)
    read_table(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()
