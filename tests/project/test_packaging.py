"""What is installed is what lies in the folders."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from devices import need_packages

import tflgpu

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from paths import ROOT

pytestmark = pytest.mark.slow

FOLDERS = ("compiler", "litert", "runtime", "templates", "tests", "samples", "docs")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
# Endings of the files below compiler, runtime and templates that an installation needs.
SHIPPED = {".py", ".jinja", ".c", ".h", ".toml", ".md", ".txt", ".typed"} | {
    ".css",
    ".html",
    ".js",
    ".ts",
    ".sh",
}


def sources() -> list[Path]:
    """Every Python file of the project."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def installed_name(path: Path) -> str:
    """Where a file of the tree lies in an installation: tflgpu/compiler/ir.py."""
    name = path.relative_to(ROOT).as_posix()
    return f"tflgpu/{name.removeprefix('runtime/facade/')}"


def shipped() -> list[Path]:
    """Every file of the tree that must be in the wheel."""
    return [
        path
        for folder in ("compiler", "litert", "runtime", "templates")
        for path in sorted((ROOT / folder).rglob("*"))
        if (path.suffix in SHIPPED or path.name == "py.typed") and "__pycache__" not in path.parts
    ]


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, since a build leaves files beside what it reads."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"
    kept_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=kept_out)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> set[str]:
    """The names in the wheel."""
    with zipfile.ZipFile(wheel_file) as archive:
        return set(archive.namelist())


def test_every_folder_with_code_is_a_listed_package() -> None:
    """A package that is not listed works in an editable installation and is missing in a wheel."""
    on_disk = {
        installed_name(path).removesuffix("/__init__.py").replace("/", ".")
        for path in shipped()
        if path.name == "__init__.py"
    }
    assert set(SETUPTOOLS["packages"]) == on_disk
    without = [path for path in shipped() if path.suffix == ".py"]
    assert all((path.parent / "__init__.py").exists() for path in without)


def test_the_wheel_holds_every_file(wheel: set[str]) -> None:
    expected = {installed_name(path) for path in shipped()}
    assert expected - wheel == set()


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    expected = {installed_name(path) for path in shipped()}
    others = {name for name in wheel - expected if ".dist-info/" not in name}
    assert [name.split(".data/")[-1] for name in others] == ["data/share/man/man1/tflgpu.1"]


# Uses every name of tflgpu. mypy must see what is wrong with the last three lines.
APPLICATION = """
from pathlib import Path
from typing import Any
from warnings import filterwarnings

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import tflgpu

Array = NDArray[Any]

filterwarnings("error", category=tflgpu.CacheWarning)
filterwarnings("ignore", category=tflgpu.DeviceWarning)
filterwarnings("ignore", category=tflgpu.FallbackWarning)


class Texture: ...


def start(bound: tflgpu.BoundRun[Texture]) -> tflgpu.SubmittedRun[Texture]:
    return bound.submit()


def show(session: tflgpu.Session, image: Array, texture: Texture) -> None:
    assert_type(session.run(image), dict[str, Array])
    assert_type(session.run(image, outputs={"mask": texture}), dict[str, Array | Texture])
    assert_type(start(session.bind(image, {"mask": texture})).wait(), dict[str, Texture])
    assert_type(session.bind(image).run(), dict[str, Array])


def run(model: Path, image: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
    infos: list[tflgpu.DeviceInfo] = tflgpu.devices()
    options = tflgpu.Options(target="glsl")
    try:
        folder: Path = tflgpu.compile(model, "cache", target=options.target)
    except tflgpu.UnsupportedError as error:
        findings: tuple[tflgpu.Finding, ...] = error.findings
        raise SystemExit(f"{findings[0].operator} in tflgpu {tflgpu.__version__}") from error
    except (tflgpu.ModelError, tflgpu.OptionError, tflgpu.PlanError, tflgpu.StoreError, OSError):
        raise
    statuses: list[str] = [each.status for each in tflgpu.compile_many([model], "s3://x", sign="k")]
    try:
        with tflgpu.load(folder, device=str(infos[0]), trust=["k.pub", *statuses]) as session:
            trial = tflgpu.edit_kernel(folder, "softmax", Path("softmax.cl"), keep=True)
            if trial.ratio > 1:
                tflgpu.revert_kernel(folder, trial.kernel)
            return score(session, image)
    except tflgpu.BuildError as error:
        raise SystemExit(error.log) from error
    except (tflgpu.DeviceError, tflgpu.InputError, tflgpu.WorkerError) as error:
        problem: tflgpu.TflgpuError = error
        raise SystemExit(str(problem)) from problem


def score(session: tflgpu.Session, image: object) -> float:
    taken: tuple[tflgpu.TensorInfo, ...] = session.inputs
    return float(session.run({taken[0].name: image})["score"][0])


tflgpu.load(5)  # type: ignore[arg-type]
tflgpu.compile(cache="cache")  # type: ignore[call-arg]
tflgpu.lode  # type: ignore[attr-defined]
"""


def test_an_application_has_types(wheel_file: Path, tmp_path: Path) -> None:
    need_packages("mypy")
    with zipfile.ZipFile(wheel_file) as archive:
        archive.extractall(tmp_path / "installed")
    (tmp_path / "application.py").write_text(APPLICATION)
    assert all(f"tflgpu.{name}" in APPLICATION for name in tflgpu.__all__)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    run = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache"), "application.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": "installed"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_programs_exist() -> None:
    """Each entry point names a function that is there."""
    for target in PROJECT["project"]["scripts"].values():
        module, _, function = target.partition(":")
        code = f"from {module} import {function}"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {str(path): length for path, length in lengths.items() if length > 500} == {}


def test_every_file_says_what_it_is() -> None:
    """The first line of a Python file is its docstring."""
    silent = [str(path) for path in sources() if not path.read_text().startswith(('"""', 'r"""'))]
    assert silent == []


def test_no_file_tells_of_the_machine_it_was_written_on() -> None:
    absolute = re.compile(r"(?<![\w.:/])/(?:home|work|Users|root|mnt)/\w+")
    names = ("README.md", "CHANGELOG.md", "pyproject.toml", ".ci/run")
    texts = [*sources(), *shipped(), *(ROOT / name for name in names)]
    found = {str(path): absolute.findall(path.read_text(encoding="utf-8")) for path in texts}
    assert {path: paths for path, paths in found.items() if paths} == {}


def test_no_unfinished_work_is_marked_in_the_source() -> None:
    marks = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))
    unfinished = [str(path) for path in sources() if marks.search(path.read_text())]
    assert unfinished == []
