"""The instructions of a processor, and how many of its cores a process may use."""

import os
from pathlib import Path

import pytest

from tflgpu.runtime import processor


def test_instructions_are_read_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_features", lambda: "flags\t\t: fpu avx512f avx512_vnni\n")
    assert processor.instructions() == {"fpu", "avx512f", "avx512_vnni"}
    monkeypatch.setattr(processor, "_features", lambda: "")
    assert processor.instructions() == frozenset()


@pytest.mark.parametrize(
    ("affinity", "files", "count"),
    [
        (8, {}, 8),
        (8, {"cpu.max": "max 100000"}, 8),
        (8, {"cpu.max": "200000 100000"}, 2),
        (8, {"cpu.max": "250000 100000"}, 2),
        (8, {"cpu.max": "1000 100000"}, 1),
        (1, {"cpu.max": "200000 100000"}, 1),
        (8, {"cpu.max": "nonsense"}, 8),
        (8, {"cpu.max": "100000 0"}, 8),
        (8, {"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        (8, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        (8, {"cpu/cpu.cfs_quota_us": "300000"}, 8),
    ],
)
def test_cores_are_limited_by_affinity_and_quota(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    affinity: int,
    files: dict[str, str],
    count: int,
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(processor, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)), raising=False)
    assert processor.usable_cores() == count


def test_usable_cores_where_none_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert processor.usable_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor.usable_cores() == 1
