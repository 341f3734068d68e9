"""wgpu-native, as PyPI's wgpu contains it, for programs in C."""

from pathlib import Path

from devices import need_packages, unavailable


def wgpu_native(folder: Path) -> tuple[str, ...]:
    """A compiler's options for its header and library, whose usual names are put into a folder."""
    need_packages("wgpu")
    import wgpu

    resources = Path(wgpu.__file__).parent / "resources"
    library = next(iter(resources.glob("libwgpu_native*.so")), None)
    if library is None:
        unavailable("wgpu has no library for this system")
    folder = folder / "wgpu"
    if not folder.exists():
        (folder / "webgpu").mkdir(parents=True)
        (folder / "webgpu/webgpu.h").symlink_to(resources / "webgpu.h")
        (folder / "libwgpu_native.so").symlink_to(library)
    place = str(folder)
    return ("-isystem", place, f"-L{place}", f"-Wl,-rpath,{place}", "-lwgpu_native")
