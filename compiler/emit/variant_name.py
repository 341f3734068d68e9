"""The name of a variant, which ends in a digest of options and of the compiler."""

import hashlib
from dataclasses import replace
from pathlib import Path

from ...runtime.cache.folder import variant_folder
from ...runtime.plan.records import Plan
from ..devices.attached import choose_profile
from ..frontend.model_file import Model, fingerprint
from ..options import Options
from ..version import compiler_version


def name_of(plan: Plan) -> str:
    return _name(plan.target, plan.precision, plan.profile, plan.options, plan.compiler)


def variant_name(options: Options) -> str:
    """The variant's name for options, which must name no tuning table (DeviceError)."""
    device = choose_profile(options.device, options.target).name
    text = replace(options, device=device).as_json()
    return _name(options.target, options.precision, device, text, compiler_version())


def compiled_folder(model: Model, options: Options, cache: Path) -> Path:
    """The folder in a cache that is for a model with these options, whether or not it exists.

    The options must not name a tuning table. DeviceError if there is no such device, ModelError if
    the model cannot be read.
    """
    return variant_folder(cache, fingerprint(model), variant_name(options))


def _name(target: str, precision: str, profile: str, options: str, compiler: str) -> str:
    choices = hashlib.sha256(f"{options}\0{compiler}".encode()).hexdigest()[:12]
    return f"{target}-{precision}-{profile}-{choices}"
