"""Device profiles: one small TOML file each, here or wherever a user keeps one."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..errors import OptionError
from .profile import Profile, parse
from .rule import Rule

SUFFIX = ".toml"


@cache
def profiles() -> dict[str, Profile]:
    """Every profile tflgpu brings along, by name."""
    result = {}
    for file in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(SUFFIX):
            name = file.name[: -len(SUFFIX)]
            result[name] = parse(file.read_text(encoding="utf-8"), name, file.name)
    return result


def profile(name: str) -> Profile:
    """The profile of that name, or in the file of that path if it ends in .toml.

    OptionError if there is none, or for what is wrong in the file.
    """
    if name.endswith(SUFFIX):
        return _read(Path(name))
    if name not in profiles():
        raise OptionError(f"no device profile {name!r}; there are {', '.join(profiles())}")
    return profiles()[name]


def names_profile(device: str) -> bool:
    """Whether what a user gave as a device is a profile's name or file."""
    return device.endswith(SUFFIX) or device in profiles()


def _read(path: Path) -> Profile:
    """A user's profile; its name says which content it had, since plans are kept by that name."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot read the profile {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise OptionError(f"the profile {path} is no text in UTF-8") from error
    stem = re.sub(r"[^a-z0-9_]+", "_", path.name[: -len(SUFFIX)].lower())
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return parse(text, f"{stem}_{digest}", str(path))


__all__ = ["Profile", "Rule", "names_profile", "profile", "profiles"]
