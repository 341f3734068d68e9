"""Runs scripts one after the other, and prints what each prints as JSON.

    python run_scripts.py WAY FOLDER SCRIPT...

The way "litert" runs them on LiteRT under every name that they import it by, "unchanged" as they
are, and "import" with `tflgpu.litert` in place of the module that they import.
"""

import contextlib
import io
import json
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = re.compile(r"tflite_runtime\.interpreter|ai_edge_litert\.(interpreter|compiled_model)")


def main(way: str, folder: str, *scripts: str) -> None:
    if way == "litert":
        name_litert()
    printed = {}
    for script in scripts:
        text = Path(script).read_text(encoding="utf-8")
        if way == "import":
            text = MODULES.sub("tflgpu.litert", text)
        sys.argv = [script, folder]
        lines = io.StringIO()
        with contextlib.redirect_stdout(lines):
            try:
                exec(compile(text, script, "exec"), {"__name__": "__main__"})
            except Exception:
                lines.write(traceback.format_exc())
        printed[Path(script).stem] = lines.getvalue()
    print(json.dumps(printed))


def name_litert() -> None:
    """Give LiteRT the names of tflite_runtime and TensorFlow as well."""
    from ai_edge_litert import interpreter

    def module(name: str, **content: Any) -> ModuleType:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__dict__.update(content, __path__=[])
        return sys.modules[name]

    module("tflite_runtime", interpreter=interpreter)
    sys.modules["tflite_runtime.interpreter"] = interpreter
    delegates = module("experimental", load_delegate=interpreter.load_delegate)
    lite = module("tensorflow.lite", Interpreter=interpreter.Interpreter, experimental=delegates)
    module("tensorflow", lite=lite)


if __name__ == "__main__":
    main(*sys.argv[1:])
