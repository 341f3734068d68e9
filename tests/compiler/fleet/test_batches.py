"""Which tasks travel together."""

from pathlib import Path

import pytest

from tflgpu.compiler.fleet.cluster import MOST, MOST_BYTES, batches
from tflgpu.compiler.fleet.tasks import Task
from tflgpu.compiler.options import Options

pytestmark = pytest.mark.quick


def tasks(folder: Path, sizes: list[int]) -> list[Task]:
    paths = [folder / f"{number}.tflite" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(bytes(size))
    return [Task(path, path.stem, Options()) for path in paths]


def test_large_models_come_first_and_alone(tmp_path: Path) -> None:
    given = tasks(tmp_path, [10, MOST_BYTES, 20, 5 * MOST_BYTES, MOST_BYTES // 2, MOST_BYTES // 2])
    found = [[task.model.stem for task in batch] for batch in batches(given, 1)]
    assert found[:2] == [["3"], ["1"]]
    assert [stem for batch in found for stem in batch] == ["3", "1", "4", "5", "2", "0"]


def test_the_last_batches_are_the_smallest(tmp_path: Path) -> None:
    given = tasks(tmp_path, [8] * 300)
    found = list(batches(given, 2))
    lengths = [len(batch) for batch in found]
    assert [task for batch in found for task in batch] == given
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (MOST, 1)


def test_a_model_that_is_gone_is_left_to_whoever_compiles_it(tmp_path: Path) -> None:
    (gone,) = tasks(tmp_path, [8])
    gone.model.unlink()
    assert list(batches([gone], 2)) == [[gone]]
