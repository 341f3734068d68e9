"""Files beside a model may be anything that a person has named by mistake."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from platforms import linux

from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import ModelError, OptionError
from tflgpu.compiler.fleet.models import find_models
from tflgpu.compiler.pictures.outputs import read_labels
from tflgpu.compiler.report.profile import read_profile
from tflgpu.compiler.sizing.tuning_table import read_table
from tflgpu.compiler.tools.editing.edit import read_source
from tflgpu.runtime import InputError

READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "labels": (read_labels, InputError),
    "tuning table": (read_table, OptionError),
    "profile of a device": (lambda path: profile(str(path)), OptionError),
    "profile of a model": (read_profile, OptionError),
    "list": (lambda path: find_models([f"@{path}"]), ModelError),
    "kernel": (read_source, InputError),
}


@linux
@pytest.mark.parametrize("name", READERS)
def test_a_file_without_end_is_not_read_to_the_end(tmp_path: Path, name: str) -> None:
    """It is left after 64 MiB; so the test has no more memory than that."""
    read, kind = READERS[name]
    path = tmp_path / "endless.toml"
    path.symlink_to("/dev/zero")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), before[1]))
    try:
        with pytest.raises(kind, match=f"cannot read .* {path}: it is larger than 64 MiB"):
            read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_text_is_an_error(tmp_path: Path, name: str) -> None:
    read, kind = READERS[name]
    path = tmp_path / "bytes.toml"
    with pytest.raises(kind, match=f"cannot read .* {path}: No such file"):
        read(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(kind, match=f"cannot read .* {path}: it is not UTF-8 text"):
        read(path)
