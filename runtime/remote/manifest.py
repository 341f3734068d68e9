"""The manifest of a published variant: its name, its files with their digests, and signatures.

    <store>/<model fingerprint>/<variant>/manifest.json
                                          files-<time>-<random>/plan.tflgpu, kernels/..., ...

A variant is in a store if its manifest is there. The manifest is written last and replaced at once,
and its folder of files belongs to it alone, so a reader finds all of the old variant or all of the
new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..cache.folder import is_fingerprint
from ..cache.variant import FALLBACK, KERNELS, ORIGINALS, PLAN, WEIGHTS
from ..errors import PlanError
from .stamps import is_folder

MANIFEST = "manifest.json"
LATEST = 1 << 33
"""The end of Unix times that all systems can show."""
FORMAT = 1
MOST_FILES = 1 << 16
"""More than the kernels of any model for a hundred choices of input shapes."""

_WITHIN = rf"(choices/[1-9][0-9]{{0,6}}/|{ORIGINALS}/)?"
_BESIDE = rf"({re.escape(PLAN)}|({KERNELS}|{FALLBACK})/[A-Za-z0-9_][A-Za-z0-9_.-]*)"
_FILE = re.compile(rf"({re.escape(WEIGHTS)}|{_WITHIN}{_BESIDE})\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_VARIANT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\Z")


class NewerFormatError(PlanError):
    """A newer version of tflgpu published the variant, which is not damaged."""


@dataclass(frozen=True)
class File:
    """A file of a variant."""

    size: int
    """Bytes."""
    sha256: str
    """Hexadecimal."""


@dataclass(frozen=True)
class Manifest:
    """What is signed: which variant this is, and the digest of every file of it."""

    fingerprint: str
    """Hex SHA-256 digest of the model file."""
    variant: str
    """The name of the variant's folder in a cache."""
    model: str
    """The model file's name, for display and for finding it."""
    files: Mapping[str, File]
    """By path in the variant's folder."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def path(self) -> str:
        """The variant's folder in a store."""
        return f"{self.fingerprint}/{self.variant}"


@dataclass(frozen=True)
class Signature:
    """A signature of a manifest."""

    key: str
    """The public key: 32 bytes, hexadecimal."""
    value: str
    """64 bytes, hexadecimal."""


@dataclass(frozen=True)
class Publication:
    """The content of manifest.json: a manifest, and what is not signed."""

    manifest: Manifest
    folder: str
    """The name of the folder of its files."""
    published: float
    """When it was put into the store (Unix time)."""
    signatures: tuple[Signature, ...] = ()

    @property
    def files(self) -> str:
        """The folder of its files in the store."""
        return f"{self.manifest.path}/{self.folder}"


def signed_bytes(manifest: Manifest) -> bytes:
    """What a signature of a manifest covers: all of it, in one way of writing it."""
    return b"tflgpu variant 1\n" + _json(asdict(manifest), None).encode()


def to_bytes(publication: Publication) -> bytes:
    """The content of manifest.json."""
    return _json({"format": FORMAT, **asdict(publication)}, 1).encode() + b"\n"


def from_bytes(data: bytes, source: str) -> Publication:
    """The content of manifest.json, read.

    PlanError, naming `source`, if it is none; NewerFormatError if it may be one.
    """
    try:
        content = json.loads(data)
        found = _count(content["format"])
        if found > FORMAT:
            raise NewerFormatError(
                f"{source} has format {found}, this version of tflgpu reads {FORMAT}; update tflgpu"
            )
        if found < FORMAT:
            raise ValueError(f"format {found}")
        return _publication(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"{source} is damaged ({error}); publish the variant again") from error


def is_variant(name: str) -> bool:
    """Whether a text has the form of a variant's name."""
    return _VARIANT.match(name) is not None


def is_path(path: str) -> bool:
    """Whether a text has the form of a variant's folder in a store."""
    fingerprint, _, variant = path.partition("/")
    return is_fingerprint(fingerprint) and is_variant(variant)


def seconds(value: Any) -> float:
    """A Unix time, as read from JSON (ValueError if it is none)."""
    if type(value) not in (int, float) or not 0 <= value < LATEST:
        raise ValueError(f"{value!r} is not a Unix time")
    return float(value)


def _publication(content: Any) -> Publication:
    manifest = content["manifest"]
    if len(manifest["files"]) > MOST_FILES:
        raise ValueError(f"it has more than {MOST_FILES} files")
    files = {
        _matching(_FILE, path, "file"): File(
            _count(file["size"]), _matching(_DIGEST, file["sha256"], "digest")
        )
        for path, file in manifest["files"].items()
    }
    missing = {PLAN, WEIGHTS} - files.keys()
    if missing:
        raise ValueError(f"without {' and '.join(sorted(missing))}")
    if not is_fingerprint(manifest["fingerprint"]):
        raise ValueError(f"{manifest['fingerprint']!r} is not a fingerprint")
    return Publication(
        Manifest(
            manifest["fingerprint"],
            _matching(_VARIANT, manifest["variant"], "variant"),
            _matching(re.compile(r"(?s).{0,4096}\Z"), manifest["model"], "model"),
            files,
        ),
        _folder(content["folder"]),
        seconds(content["published"]),
        tuple(
            Signature(
                _matching(_DIGEST, item["key"], "key"),
                _matching(re.compile(r"[0-9a-f]{128}\Z"), item["value"], "signature"),
            )
            for item in content["signatures"]
        ),
    )


def _folder(name: Any) -> str:
    if not isinstance(name, str) or not is_folder(name):
        raise ValueError(f"{name!r} is not a folder")
    return name


def _matching(form: re.Pattern[str], text: Any, what: str) -> str:
    if not isinstance(text, str) or not form.match(text):
        raise ValueError(f"{text!r} is not a {what}")
    return text


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a number of bytes")
    return value


def _json(value: Any, indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators, sort_keys=True)
