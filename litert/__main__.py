"""`python -m tflgpu.litert SCRIPT ARGS...`: run a script for LiteRT unchanged."""

import argparse
import runpy
import sys
from pathlib import Path

from .aliases import install
from .opened import DEFAULTS


def main() -> None:
    """Run the script with LiteRT's names for the classes here."""
    parser = argparse.ArgumentParser(
        "python -m tflgpu.litert",
        description="Run a script that imports LiteRT, tflite_runtime or tf.lite on tflgpu.",
    )
    parser.add_argument("--device", default=DEFAULTS.device, help="part of a device's name")
    parser.add_argument("--cache", type=Path, default=DEFAULTS.cache, help="for compiled models")
    parser.add_argument("script", type=Path, help="the script to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    chosen = parser.parse_args()
    if not chosen.script.is_file():
        parser.error(f"there is no script {chosen.script}")
    DEFAULTS.device, DEFAULTS.cache = chosen.device, chosen.cache
    install()
    sys.argv = [str(chosen.script), *chosen.args]
    sys.path[0] = str(chosen.script.resolve().parent)
    runpy.run_path(str(chosen.script), run_name="__main__")


if __name__ == "__main__":
    main()
