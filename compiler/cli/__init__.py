"""The command line: `tflgpu` with its subcommands.

Input are the user's arguments; output are tables or JSON. Exit code 1 means that the model, the
cache or the device is at fault, and a message on stderr says what to do; 2 means that the command
was used incorrectly; 130, that it was interrupted. A traceback is a bug in tflgpu.
"""

import click

from .shell import Program

# The commands, and where each is defined: most take longer to import than others to run.
COMMANDS = {
    "benchmark": "benchmarking.benchmark_command",
    "cache": "caching.cache",
    "compile": "compiling.compile_command",
    "devices": "listing_devices.devices",
    "doctor": "doctor.doctor",
    "edit": "editing.edit",
    "explain": "explaining.explain",
    "export": "exporting.export",
    "inspect": "inspecting.inspect",
    "ops": "listing_operators.ops",
    "opt": "rewriting.opt",
    "run": "running.run",
    "tune": "tuning.tune_command",
    "verify": "verifying.verify",
}


@click.group(
    cls=Program,
    late={name: f"{__name__}.commands.{place}" for name, place in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="tflgpu")
def main() -> None:
    """Compile TensorFlow Lite models to GPU kernels ahead of time, and run them."""
