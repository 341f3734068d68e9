"""Several variants of a model in one program, which picks the one that suits its device."""

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exporting import Demo, Found, build, content
from graphs import call, model, parsed, x
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices.attached import profile_for
from tflgpu.compiler.errors import OptionError
from tflgpu.compiler.export import export
from tflgpu.compiler.export.variants import schedule_table, variant_tables
from tflgpu.compiler.export.weights import join_weights
from tflgpu.runtime.cache.variant import Variant, read_variant
from tflgpu.runtime.plan.records import Region

IMAGE = {"image": np.random.default_rng(5).random((1, 8, 8, 1), np.float32)}
ASK = """#include "net_model.h"
#include <stdio.h>
int main(int count, char **words) {
  tflgpu_options options = {0};
  tflgpu_error error;
  tflgpu_session *session;
  options.device = words[count - 1];
  session = tflgpu_open(&net_model, &options, &error);
  puts(session ? tflgpu_profile(session) : error.message);
  tflgpu_close(session);
  return !session;
}
"""


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Variant]:
    """Compiles the digits for a profile."""
    cache = tmp_path_factory.mktemp("cache")

    def compiled(profile: str) -> Variant:
        options = Options(target="opencl", device=profile, fallback="none")
        return read_variant(pipeline.write(pipeline.build(DIGITS_MODEL, options), cache))

    return compiled


def test_a_model_that_launches_nothing_has_no_empty_arrays(tmp_path: Path) -> None:
    """C has none."""
    options = Options(device="gpu", fallback="none")
    compiled = pipeline.build(model({"y": call("RELU", x(0, 3))}).content, options)
    variant = read_variant(pipeline.write(compiled, tmp_path))
    (schedule,) = variant.plan.schedules
    text = schedule_table(variant, schedule, "alone")
    rows = re.findall(r"alone_(\w+)\[\] = {\s*(.*?),?\s*};", text, re.DOTALL)
    assert dict(rows) == {
        "source": '""',
        "kernels": "{NULL, 0, 0}",
        "steps": "{0, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0}",
        "arguments": "{0, 1, 0, 0, 0, 0}",
    }


def test_a_device_needs_one_of_the_instructions_of_a_rule(
    variant: Callable[[str], Variant],
) -> None:
    """So that C, whose rules have one each, has as many rules."""
    text, _ = variant_tables(variant("cpu_avx2_bytes"), 0, 0, "net_")
    rules = re.search(r"tflgpu_rule net_rules_0\[\] = {\s*(.*?),?\s*};", text, re.DOTALL)
    assert rules is not None
    assert rules[1].splitlines() == [
        '{4, "cpu", NULL, NULL, NULL, NULL, 8, "avx_vnni"},',
        '    {4, "cpu", NULL, NULL, NULL, NULL, 8, "avx2"}',
    ]


def asked(folder: Path, variants: Sequence[Variant], found: Found) -> tuple[int, str]:
    """The exit code of a program that opens these variants, and the profile or error it prints."""
    export(variants, folder, "net", embed=False)
    (folder / "main.c").write_text(ASK)
    build(folder, "ask", *sorted(path.name for path in folder.glob("*.c")))
    ran = subprocess.run(
        ["./ask", found.name], cwd=folder, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
def test_the_rules_of_profiles_decide(
    found: Found, tmp_path: Path, variant: Callable[[str], Variant], order: int
) -> None:
    """As in `tflgpu devices`."""
    (info,) = (each for each in tflgpu.devices() if str(each) == found.device)
    wanted = profile_for(info).name
    names = ["adreno", "gpu", *dict.fromkeys(["cpu", wanted])][::order]
    variants = [variant(name) for name in names]
    assert asked(tmp_path / "project", variants, found) == (0, wanted)
    demo = Demo(tmp_path / "project", variants[names.index(wanted)].folder)
    export(variants, tmp_path / "demo", "net", embed=False)
    (demo.folder / "main.c").write_text((tmp_path / "demo" / "main.c").read_text())
    build(demo.folder, "demo", *sorted(path.name for path in demo.folder.glob("*.c")))
    assert not demo.run("--device", found.name, content=content(IMAGE)).returncode
    assert demo.outputs == demo.expected(found.device, IMAGE)


@pytest.mark.slow
def test_what_the_device_cannot_run_is_not_picked(
    found: Found, tmp_path: Path, variant: Callable[[str], Variant]
) -> None:
    """Not even if its rules fit best."""
    fitting = variant(found.profile)
    needs = replace(fitting.plan.needs, local_memory=1 << 30)
    unfit = replace(fitting, plan=replace(fitting.plan, needs=needs))
    assert asked(tmp_path / "two", [unfit, variant("mali")], found) == (0, "mali")
    code, message = asked(tmp_path / "one", [unfit], found)
    assert code == 1
    assert "bytes of local memory, but digits.tflite was compiled for 1073741824; comp" in message


def test_weights_that_agree_are_stored_once(variant: Callable[[str], Variant]) -> None:
    variants = [variant(name) for name in ("mali", "gpu", "cpu_avx512", "mali")]
    joined = join_weights([[variant] for variant in variants])
    sizes = [len(each.weights.content) for each in variants]
    assert len(joined.content) < sum(sizes[:3]) - sizes[1] // 2
    assert len(joined.spans[0]) == len(joined.spans[3]) == 1
    for each, spans in zip(variants, joined.spans, strict=True):
        whole = bytearray(len(each.weights.content))
        for span in spans:
            whole[span.to : span.to + span.size] = joined.content[span.start :][: span.size]
        assert len(whole) == len(each.weights.content)
        for dispatch in each.plan.dispatches:
            for item in dispatch.arguments:
                if item.region is Region.WEIGHTS:
                    end = item.offset + item.size
                    assert whole[item.offset : end] == each.weights.content[item.offset : end]


def test_variants_must_agree(tmp_path: Path, variant: Callable[[str], Variant]) -> None:
    made = parsed("input x float32[3]\ny = ABS(x)\noutput y")
    options = Options(target="opencl", device="gpu", fallback="none")
    other = read_variant(pipeline.write(pipeline.build(made.content, options), tmp_path / "c"))
    with pytest.raises(OptionError, match="mali and gpu differ in their inputs, outputs or var"):
        export([variant("mali"), other], tmp_path / "project", "net", embed=False)
