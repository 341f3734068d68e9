"""`tflgpu inspect --compiler`: what a GPU's compiler makes of a model's kernels."""

from dataclasses import fields
from operator import itemgetter

from ...runtime.cache.variant import Variant
from ..tools.machine_code import COMPILERS, Compiler, MachineCode, Module
from .printing import Answer, Column, Listing
from .shell import Failure


def machine_code_answer(variant: Variant, compiler: Compiler) -> Answer:
    """A table with a row for each kernel; for programs its machine code, too (Failure)."""
    found = machine_code(variant, compiler)
    title = f"Kernels as {compiler.name} compiles them for {compiler.chip}; a loop counts once"
    names = [field.name for field in fields(MachineCode) if field.name != "text"]
    columns = [
        Column("", name.replace("_", " "), text=itemgetter(number), right=number > 0)
        for number, name in enumerate(["kernel", *names])
    ]
    rows = [(kernel, *(getattr(code, name) for name in names)) for kernel, code in found.items()]
    return Answer(found, [Listing(title, columns, rows)])


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
