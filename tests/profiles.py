"""Profiles as `tflgpu benchmark --json` prints them, with times that were not measured."""

import json
from pathlib import Path

from tflgpu.runtime.plan.records import Plan


def profile_of(plan: Plan, path: Path, factor: float = 1.0) -> Path:
    """A profile of a plan's kernels: dispatch n takes n + 1 milliseconds, times the factor."""
    value = {
        **{"model": plan.model, "device": "a device", "target": plan.target},
        **{"profile": plan.profile, "median_ms": 7.5 * factor},
        "kernels": [
            {
                **{"label": item.label, "operators": item.operators},
                **{"ms": (number + 1) * factor, "roofline": 0.25},
            }
            for number, item in enumerate(plan.dispatches)
        ],
        "fallback": [
            {
                **{"label": part.label, "operators": part.operators},
                **{"copy_in_ms": 1.0, "ms": 2.0, "copy_out_ms": 1.0},
            }
            for part in plan.parts
        ],
    }
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
