"""The version of the compiler, which changes with any of its files."""

import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files


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
