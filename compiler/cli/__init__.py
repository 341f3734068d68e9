"""The command line: `tflgpu` with its subcommands, and `tflgpu-compile`.

Input are the user's arguments; output are tables or JSON. Exit code 1 means that the model, the
cache or the device is at fault, and a message on stderr says what to do; 2 means that the command
was used incorrectly; 130, that it was interrupted. A traceback is a bug in tflgpu.
"""

from __future__ import annotations

import click

from .benchmarking import benchmark_command
from .caching import cache
from .compiling import compile_command
from .doctor import doctor
from .editing import edit
from .explaining import explain
from .exporting import export
from .inspecting import inspect
from .listing import devices, ops
from .rewriting import opt
from .running import run
from .shell import Program
from .tuning import tune_command
from .verifying import verify


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tflgpu")
def main() -> None:
    """Compile TensorFlow Lite models to GPU kernels ahead of time, and run them."""


for _command in (
    compile_command,
    tune_command,
    run,
    verify,
    benchmark_command,
    inspect,
    explain,
    opt,
    edit,
    export,
    cache,
    devices,
    doctor,
    ops,
):
    main.add_command(_command)

compile_main = compile_command
"""The program `tflgpu-compile`, which is the same as `tflgpu compile`."""

__all__ = ["compile_main", "main"]
