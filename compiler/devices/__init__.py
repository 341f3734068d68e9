"""Device profiles: small TOML files with the facts about a device that shape its kernels.

Input is the name or file of a profile, or an attached device; output is a `Profile`.
"""

import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..errors import OptionError
from ..side_file import read_text
from .profile import Profile, Rule, parse

SUFFIX = ".toml"
_FOLDER = files(__name__) / "profiles"


@cache
def profiles() -> dict[str, Profile]:
    """Every built-in profile, by name."""
    return {name: _built_in(name) for name in _names()}


@cache
def _names() -> list[str]:
    names = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in names)


@cache
def _built_in(name: str) -> Profile:
    """OptionError if there is none of that name."""
    if name not in _names():
        raise OptionError(f"no device profile {name!r}; choose one of {', '.join(_names())}")
    file = f"{name}{SUFFIX}"
    return parse((_FOLDER / file).read_text(encoding="utf-8"), name, file, _built_in)


def profile(name: str) -> Profile:
    """The profile called `name`, or in the file `name` if it ends in .toml (OptionError)."""
    if name.endswith(SUFFIX):
        return _read(Path(name))
    return _built_in(name)


def names_profile(device: str) -> bool:
    """Whether the option `device` is the name or file of a profile."""
    return device.endswith(SUFFIX) or device in _names()


def _read(path: Path) -> Profile:
    """A user's profile, named by its file and content, as its plans are cached by that name."""
    text = read_text(path, "the profile", OptionError)
    stem = re.sub(r"[^a-z0-9_]+", "_", path.name[: -len(SUFFIX)].lower())
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return parse(text, f"{stem}_{digest}", str(path), _built_in)
