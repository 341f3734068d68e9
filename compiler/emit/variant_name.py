"""The version of the compiler; the name of a variant, which ends in a digest of it and options."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ...runtime.cache.folder import variant_folder
from ...runtime.plan.records import Plan
from ..devices.attached import choose_profile
from ..frontend.model_file import Model, fingerprint
from ..options import Options


@cache
def compiler_version() -> str:
    """The version and a digest of the compiler's files, so that editing them makes new plans."""
    digest = hashlib.sha256()
    for package in ("tflgpu.compiler", "tflgpu.templates"):
        for path, content in _package_files(package):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return f"{version('tflgpu')}+{digest.hexdigest()[:12]}"


def _package_files(package: str) -> list[tuple[str, bytes]]:
    found = []
    open_folders = [("", files(package))]
    while open_folders:
        prefix, folder = open_folders.pop()
        for entry in folder.iterdir():
            path = f"{prefix}{entry.name}"
            if entry.is_dir() and entry.name != "__pycache__":
                open_folders.append((f"{path}/", entry))
            elif entry.name.endswith((".py", ".jinja", ".toml")):
                found.append((path, entry.read_bytes()))
    return sorted(found)


def name_of(plan: Plan) -> str:
    """The name of the variant that a plan is for."""
    return _name(plan.target, plan.precision, plan.profile, plan.options, plan.compiler)


def variant_name(options: Options) -> str:
    """The name of the variant for these options, which must not name a tuning table.

    DeviceError if there is no such device.
    """
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
