"""`tflgpu inspect --compiler`: what a GPU's compiler makes of a model's kernels."""

from __future__ import annotations

from dataclasses import asdict

from ...runtime.store.variant import Variant
from ..tools.radv import FAMILY, MachineCode, compile_modules
from .shell import Failure, print_json, print_table

COLUMNS = (
    "registers",
    "spills",
    "waves",
    "instructions",
    "branches",
    "loads",
    "uniform_loads",
    "multiply_adds",
)


def print_machine_code(variant: Variant, as_json: bool) -> None:
    """Print a table with a row for each kernel; with `as_json` its machine code, too."""
    found = machine_code(variant)
    if as_json:
        print_json({name: asdict(code) for name, code in found.items()})
        return
    print_table(
        f"Kernels as RADV compiles them for {FAMILY}; a loop counts once",
        ("kernel", *(column.replace("_", " ") for column in COLUMNS)),
        [(name, *(getattr(code, column) for column in COLUMNS)) for name, code in found.items()],
        right=tuple(column.replace("_", " ") for column in COLUMNS),
    )


def machine_code(variant: Variant) -> dict[str, MachineCode]:
    """The machine code of each kernel, by name (Failure for kernels in another language)."""
    plan = variant.plan
    if plan.target != "vulkan":
        raise Failure(
            f"radv compiles Vulkan kernels, but {variant.folder} has kernels for {plan.target}; "
            f"compile the model with --target vulkan"
        )
    modules = {}
    for kernel in plan.kernels:
        path = (variant.folder / kernel.file).with_suffix(".spv")
        try:
            modules[kernel.name] = (path.read_bytes(), kernel.parameters)
        except OSError as error:
            raise Failure(f"cannot read {path}: {error.strerror or error}") from error
    return compile_modules(modules)
