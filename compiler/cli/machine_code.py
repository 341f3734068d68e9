"""`tflgpu inspect --compiler`: what a GPU's compiler makes of a model's kernels."""

from __future__ import annotations

from dataclasses import asdict, fields

from ...runtime.cache.variant import Variant
from ..tools.machine_code import COMPILERS, Compiler, MachineCode, Module
from .printing import print_json, print_table
from .shell import Failure

COLUMNS = tuple(field.name for field in fields(MachineCode) if field.name != "text")


def print_machine_code(variant: Variant, compiler: Compiler, as_json: bool) -> None:
    """Print a table with a row for each kernel; with `as_json` its machine code, too."""
    found = machine_code(variant, compiler)
    if as_json:
        print_json({name: asdict(code) for name, code in found.items()})
        return
    print_table(
        f"Kernels as {compiler.name} compiles them for {compiler.chip}; a loop counts once",
        ("kernel", *(column.replace("_", " ") for column in COLUMNS)),
        [(name, *(getattr(code, column) for column in COLUMNS)) for name, code in found.items()],
        right=tuple(column.replace("_", " ") for column in COLUMNS),
    )


def machine_code(variant: Variant, compiler: Compiler) -> dict[str, MachineCode]:
    """The machine code of each kernel, by name (Failure for kernels in another language)."""
    plan = variant.plan
    if plan.target != compiler.target:
        raise Failure(
            f"{compiler.name} compiles kernels for {compiler.target}, but {variant.folder} has "
            f"kernels for {plan.target}; compile the model with --target {compiler.target}"
        )
    merged = {record.kernel for record in plan.persistent}
    options = plan.schedules[0].options
    modules = {}
    for index, kernel in enumerate(plan.kernels):
        path = variant.folder / kernel.file
        path = path.with_suffix(".spv") if plan.target == "vulkan" else path
        if index not in merged:
            try:
                content = path.read_bytes()
            except OSError as error:
                raise Failure(f"cannot read {path}: {error.strerror or error}") from error
            modules[kernel.name] = Module(content, kernel.parameters, kernel.group, options)
    return compiler.compile(modules)


def described() -> str:
    """The compilers, for the help of the option."""
    return "; ".join(
        f"{compiler.name} is {compiler.description}, for --target {compiler.target}"
        for compiler in COMPILERS.values()
    )
