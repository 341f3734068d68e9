"""Templates as jinja2 compiled them, kept in the user's cache for processes to come.

    <user's cache>/tflgpu/templates/<digest of a template's name>.<name of Python's bytecode>

Compiling the templates of a network takes about as long as all that is done with them. Each file
has a digest of itself and of all that made it: of the compiler, of jinja2 and of Python. If it is
another one, if the file is damaged, or if other users could have changed it, the template is
compiled again and the file replaced.
"""

import sys
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache
from platformdirs import user_cache_path

from ....runtime.cache.private_files import check_private, make_private, read_file, replace_file
from ....runtime.errors import PlanError
from ...version import compiler_version

LIMIT = 1 << 24  # Bytes that a file may have.


class KeptTemplates(BytecodeCache):
    """What jinja2 asks for a template before it compiles it, and tells of it afterwards."""

    def __init__(self) -> None:
        self._folder = user_cache_path("tflgpu") / "templates"
        self._made_by = repr((compiler_version(), version("jinja2"), sys.version)).encode()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give a template its code, if that is here."""
        with suppress(OSError, PlanError):
            check_private(self._folder)
            content = read_file(self._file(bucket), LIMIT)
            code = content[sha256().digest_size :]
            if content == self._sealed(code):
                bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template, if anything can be written here."""
        with suppress(OSError, PlanError):
            make_private(self._folder)
            content = self._sealed(bucket.bytecode_to_string())
            replace_file(self._file(bucket), content, lasting=False)

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.{sys.implementation.cache_tag}"

    def _sealed(self, code: bytes) -> bytes:
        return sha256(self._made_by + code).digest() + code
