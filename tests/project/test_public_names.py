"""The names of the package `tflgpu`: what there is, what using it imports, and its types."""

from importlib.metadata import version

import pytest

import tflgpu
import tflgpu.compiler
import tflgpu.compiler.errors
import tflgpu.runtime

HOMES = {
    tflgpu.compiler: ("Finding", "ModelError", "OptionError", "Options", "UnsupportedError"),
    tflgpu.compiler.errors: ("FallbackWarning", "WorkerError"),
    tflgpu.runtime: (
        *("BoundRun", "SubmittedRun"),
        *("BuildError", "CacheWarning", "DeviceError", "DeviceInfo", "DeviceWarning", "InputError"),
        "PlanError",
        *("Session", "StoreError", "TensorInfo", "TflgpuError", "devices"),
    ),
}


def test_dir_lists_every_name() -> None:
    names = {name for public in HOMES.values() for name in public}
    others = {"load", "compile", "compile_many", "edit_kernel", "revert_kernel"}
    assert set(dir(tflgpu)) == names | {"__version__"} | others
    assert sorted(dir(tflgpu)) == sorted(tflgpu.__all__)


def test_names_are_those_of_the_packages() -> None:
    for module, names in HOMES.items():
        for name in names:
            assert getattr(tflgpu, name) is getattr(module, name)
    for name in ("compile", "edit_kernel", "revert_kernel"):
        assert getattr(tflgpu, name) is getattr(tflgpu.compiler, name)
    assert tflgpu.__version__ == version("tflgpu")


def test_errors_have_one_base() -> None:
    errors = [getattr(tflgpu, name) for name in dir(tflgpu) if name.endswith("Error")]
    assert len(errors) == 10
    assert all(issubclass(error, tflgpu.TflgpuError) for error in errors)
    assert issubclass(tflgpu.CacheWarning, UserWarning)
    assert issubclass(tflgpu.FallbackWarning, UserWarning)


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'tflgpu' has no attribute 'lode'"):
        tflgpu.lode  # type: ignore[attr-defined]  # noqa: B018
