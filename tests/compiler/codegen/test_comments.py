"""The comment at the top of a kernel's file."""

import re

from graphs import Value, call, model, x

from tflgpu.compiler import Options, pipeline


def test_few_of_many_launches_are_listed() -> None:
    """Of layers that are alike, each of which is a launch of the same kernel."""
    window = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
    value: Value = x(1, 8, 8, 16)
    for _ in range(6):
        value = call("MAX_POOL_2D", value, padding="SAME", **window)
    built = pipeline.build(model({"y": value}).content, Options(device="gpu"))
    # The last one stores row-major, with a kernel of its own.
    source = next(text for file, text in built.sources.items() if "pool" in file)
    uses = [line for line in source.splitlines() if re.match(r"// (operator|and) ", line)]
    assert [line.split(":")[0] for line in uses] == [
        "// operator 0 MAX_POOL_2D",
        "// operator 1 MAX_POOL_2D",
        "// operator 2 MAX_POOL_2D",
        "// and 2 more launches",
    ]
