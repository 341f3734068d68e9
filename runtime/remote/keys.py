"""Keys: signing manifests, and whom to trust.

Keys are ed25519, in files as `ssh-keygen -t ed25519` and `openssl genpkey -algorithm ed25519` write
them. They are read when they are needed; no part of a private key is stored, logged or shown.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import PlanError, StoreError
from .manifest import Manifest, Publication, Signature, signed_bytes
from .store import not_installed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ANYONE = "anyone"  # Trust that takes every variant, signed or not.
Key = str | os.PathLike[str]  # A public key: its file, or its text (ssh-ed25519 AAAA..., or PEM).
Trust = Literal["anyone"] | Key | Sequence[Key]  # Whose variants to run.
Ask = Callable[[Path], str]  # Asks a person for the passphrase of the key in a file.
LARGEST_KEY = 1 << 16  # Bytes of a key's file.
SHOWN_SIGNERS = 3  # How many of those who signed a variant an error names.


class SigningKey:
    """A private key, which signs manifests."""

    def __init__(self, path: str | os.PathLike[str], ask: Ask | None = None) -> None:
        """Read OpenSSH's format or PEM (StoreError, also for a passphrase without `ask`)."""
        self._key = _private(Path(path), ask)

    def add_to(self, publication: Publication) -> Publication:
        """A variant with this key's signature, and with those that others gave it rightly."""
        others = [each for each in publication.signatures if _verifies(each, publication)]
        mine = self._sign(publication.manifest)
        found = {each.key: each for each in (*others, mine)}
        return replace(publication, signatures=tuple(found[key] for key in sorted(found)))

    def _sign(self, manifest: Manifest) -> Signature:
        public = self._key.public_key().public_bytes_raw()
        return Signature(public.hex(), self._key.sign(signed_bytes(manifest)).hex())

    def signed(self, publication: Publication) -> bool:
        return self._sign(publication.manifest) in publication.signatures


class Trusted:
    """The public keys whose signatures count, or everyone."""

    def __init__(self, trust: Trust) -> None:
        """Read the keys (StoreError)."""
        self._anyone = trust == ANYONE
        self._keys = frozenset() if self._anyone else frozenset(map(_public, _given(trust)))

    def objection(self, publication: Publication) -> str | None:
        """Why a variant must not be run; None if a trusted key signed it."""
        if self._anyone:
            return None
        if not publication.signatures:
            return "it is not signed"
        signers = {signature.key: signature for signature in publication.signatures}
        trusted = signers.keys() & self._keys
        if not trusted:
            names = [fingerprint(key) for key in sorted(signers)[:SHOWN_SIGNERS]]
            others = len(signers) - len(names)
            names += [f"{others} others"] * bool(others)
            return f"it is signed by {' and '.join(names)}, which is not among the trusted keys"
        wrong = sorted(key for key in trusted if not _verifies(signers[key], publication))
        if wrong:
            return f"the signature by {fingerprint(wrong[0])} is not that of this manifest"
        return None

    def check(self, publication: Publication, source: str) -> None:
        """PlanError, naming `source`, unless the variant may be run."""
        reason = self.objection(publication)
        if reason is not None:
            raise refused({source: reason})


def refused(reasons: Mapping[str, str]) -> PlanError:
    """The error for variants that are not trusted: why not, by where they are."""
    named = "\n".join(f"{source} is refused, because {why}" for source, why in reasons.items())
    return PlanError(
        f"{named}; a plan is a program, so give the public key of whoever compiled it as "
        f'trust=[...] or --trust, or "anyone" there to run it all the same'
    )


def fingerprint(key: str) -> str:
    """A public key as `ssh-keygen -l` shows it, to compare by eye: SHA256:..."""
    parts = (b"ssh-ed25519", bytes.fromhex(key))
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _given(trust: Trust) -> list[Key]:
    """The public keys that are given as trust (StoreError)."""
    if isinstance(trust, (str, os.PathLike)):
        keys = [trust]
    else:
        keys = list(trust) if isinstance(trust, Iterable) else [trust]
    if not all(isinstance(key, (str, os.PathLike)) and os.fspath(key) for key in keys):
        raise StoreError(
            f"trust={trust!r}: give the public keys of whoever compiles, as files or texts, or "
            f'"{ANYONE}"'
        )
    return keys


def _verifies(signature: Signature, publication: Publication) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.key))
    try:
        public.verify(bytes.fromhex(signature.value), signed_bytes(publication.manifest))
    except InvalidSignature:
        return False
    return True


def _private(path: Path, ask: Ask | None) -> Ed25519PrivateKey:
    serialization = _serialization(f"the key {path}")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    content = _read(path)
    read = serialization.load_pem_private_key
    if b"OPENSSH PRIVATE KEY" in content:
        read = serialization.load_ssh_private_key
    try:
        key = read(content, None)
    except TypeError:
        key = _unlocked(path, content, read, ask)
    # The exceptions' texts may quote what they could not read.
    except Exception:
        raise StoreError(f"{path} is not a private key in OpenSSH's format or PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise StoreError(f"the key {path} is not an ed25519 key; make one with: {_MAKE}")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise StoreError(f"other users can use the private key {path}; run: chmod 600 {path}")
    return key


def _unlocked(path: Path, content: bytes, read: Callable[..., Any], ask: Ask | None) -> Any:
    """The key in a file with a passphrase (StoreError)."""
    from cryptography.exceptions import UnsupportedAlgorithm

    if ask is None:
        raise StoreError(
            f"the key {path} has a passphrase, and there is no terminal to ask for it; sign on a "
            f"terminal, or with a key without one: {_MAKE}"
        )
    passphrase = ask(path).encode()
    try:
        return read(content, passphrase)
    except UnsupportedAlgorithm:
        raise not_installed(f"the key {path}", "bcrypt") from None
    except Exception:
        raise StoreError(f"that is not the passphrase of the key {path}") from None


def _public(key: Key) -> str:
    """The 32 bytes of a public key, hexadecimal (StoreError)."""
    shown = f"the key {key}" if isinstance(key, os.PathLike) or len(key) < 100 else "a trusted key"
    serialization = _serialization(shown)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text = isinstance(key, str) and key.startswith(("ssh-", "-----BEGIN"))
    content = str(key).encode() if text else _read(Path(key))
    read = serialization.load_pem_public_key
    if content.startswith(b"ssh-"):
        read = serialization.load_ssh_public_key
    if len(_KEYS.findall(content)) > 1:
        raise StoreError(f"{shown} has several keys; give each in a file or a text of its own")
    try:
        public = read(content)
    except Exception:
        raise StoreError(f"{shown} is not a public key in OpenSSH's format or PEM") from None
    if not isinstance(public, Ed25519PublicKey):
        raise StoreError(f"{shown} is not an ed25519 key; make one with: {_MAKE}")
    return public.public_bytes_raw().hex()


_KEYS = re.compile(rb"^(?:ssh-|ecdsa-|sk-|-----BEGIN)", re.MULTILINE)  # Where a public key begins.

_MAKE = "ssh-keygen -t ed25519 -N '' -f KEY"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_KEY)
    except (OSError, ValueError) as error:  # a ValueError for what no path can be
        reason = getattr(error, "strerror", None) or "there can be no such file"
        raise StoreError(f"cannot read the key {path}: {reason}") from error


def _serialization(what: str) -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise not_installed(what, "cryptography") from error
    return serialization
