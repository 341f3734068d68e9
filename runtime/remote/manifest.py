"""The manifest of a published variant: its name, its files with their digests, and signatures.

    <store>/<model fingerprint>/<variant>/manifest.json
                                          files-<time>-<random>/plan.tflgpu, kernels/..., ...

A variant is in a store if its manifest is there. The manifest is written last and replaced at once,
and its folder of files belongs to it alone, so a reader finds all of the old variant or all of the
new one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from ..cache.folder import is_fingerprint
from ..cache.variant import FALLBACK, KERNELS, ORIGINALS, PLAN, WEIGHTS
from ..errors import PlanError
from ..typed_json import Form, typed
from .stamps import is_folder

MANIFEST = "manifest.json"
LATEST = 1 << 33  # The end of Unix times that all systems can show.
FORMAT = 1
MOST_FILES = 1 << 16  # More than the kernels of any model for a hundred choices of input shapes.

_WITHIN = rf"(choices/[1-9][0-9]{{0,6}}/|{ORIGINALS}/)?"
_BESIDE = rf"({re.escape(PLAN)}|({KERNELS}|{FALLBACK})/[A-Za-z0-9_][A-Za-z0-9_.-]*)"
_VARIANT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\Z")


def is_time(seconds: float) -> bool:
    """Whether it is a Unix time that all systems can show."""
    return 0 <= seconds < LATEST


def _like(name: str, pattern: str) -> Form:
    return Form(name, re.compile(pattern).match)


Digest = Annotated[str, _like("digest", r"[0-9a-f]{64}\Z")]
FileName = Annotated[str, _like("file", rf"({re.escape(WEIGHTS)}|{_WITHIN}{_BESIDE})\Z")]
Time = Annotated[float, Form("Unix time", is_time)]


class NewerFormatError(PlanError):
    """A newer version of tflgpu published the variant, which is not damaged."""


@dataclass(frozen=True)
class File:
    size: Annotated[int, Form("number of bytes", lambda size: size >= 0)]
    sha256: Digest  # Hexadecimal.


@dataclass(frozen=True)
class Manifest:
    """What is signed: which variant this is, and the digest of every file of it."""

    # Hex SHA-256 digest of the model file.
    fingerprint: Annotated[str, Form("fingerprint", is_fingerprint)]
    # The name of the variant's folder in a cache.
    variant: Annotated[str, Form("variant", _VARIANT.match)]
    # The model file's name, for display and for finding it.
    model: Annotated[str, _like("model", r"(?s).{0,4096}\Z")]
    files: Mapping[FileName, File]  # By path in the variant's folder.

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    @property
    def path(self) -> str:
        """The variant's folder in a store."""
        return f"{self.fingerprint}/{self.variant}"


@dataclass(frozen=True)
class Signature:
    key: Digest  # The public key: 32 bytes, hexadecimal.
    value: Annotated[str, _like("signature", r"[0-9a-f]{128}\Z")]  # 64 bytes, hexadecimal.


@dataclass(frozen=True)
class Publication:
    """The content of manifest.json: a manifest, and what is not signed."""

    manifest: Manifest
    folder: Annotated[str, Form("folder", is_folder)]
    published: Time  # When it was put into the store (Unix time).
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
    """The content of manifest.json (PlanError, naming `source`; NewerFormatError if newer)."""
    try:
        content = json.loads(data)
        found = content["format"]
        if type(found) is int and found > FORMAT:
            raise NewerFormatError(
                f"{source} has format {found}, this version of tflgpu reads {FORMAT}; update tflgpu"
            )
        if found != FORMAT:
            raise ValueError(f"format {found!r}")
        if len(content["manifest"]["files"]) > MOST_FILES:
            raise ValueError(f"it has more than {MOST_FILES} files")
        publication = typed(Publication, content)
        if missing := {PLAN, WEIGHTS} - publication.manifest.files.keys():
            raise ValueError(f"without {' and '.join(sorted(missing))}")
        return publication
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"{source} is damaged ({error}); publish the variant again") from error


def is_variant(name: str) -> bool:
    return _VARIANT.match(name) is not None


def is_path(path: str) -> bool:
    """Whether a text has the form of a variant's folder in a store."""
    fingerprint, _, variant = path.partition("/")
    return is_fingerprint(fingerprint) and is_variant(variant)


def _json(value: Any, indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators, sort_keys=True)
