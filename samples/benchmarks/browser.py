"""A page that measures networks beside LiteRT.js, in one browser.

    python samples/benchmarks/browser.py FOLDER MODEL...
    cd FOLDER && npm install @litertjs/core && python3 -m http.server

Each network is compiled for WebGPU and exported; FOLDER/index.html runs it and LiteRT.js in turn.
LiteRT.js compiles no kernel twice in a page, so that a start of its own needs a page of its own:
with ?network=network_0, and so on, the page measures one of them, with ?runs=5 by so many runs.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import tflgpu

TFLGPU = (sys.executable, "-m", "tflgpu")  # The program of this Python, whichever is found first.


def write_site(folder: Path, models: list[Path], profile: str) -> None:
    """The page, the networks as files, and what they are exported to."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).with_name("browser.html"), folder / "index.html")
    listed = []
    for number, model in enumerate(models):
        name = f"network_{number}"
        compiled = tflgpu.compile(
            model, folder / "cache" / name, target="wgsl", device=profile, fallback="none"
        )
        shutil.rmtree(folder / name, ignore_errors=True)
        exported = ("--name", name, "--backend", "web", "-o", str(folder / name))
        subprocess.run([*TFLGPU, "export", str(compiled), *exported], check=True)
        shutil.copy(model, folder / f"{name}.tflite")
        listed.append({"name": name, "model": model.name})
    (folder / "networks.json").write_text(json.dumps(listed), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--device", default="webgpu", help="the device profile to compile for")
    chosen = parser.parse_args()
    write_site(chosen.folder, chosen.models, chosen.device)


if __name__ == "__main__":
    main()
