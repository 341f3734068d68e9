"""Compiling many models in this process: what is compiled, what is not, and what is recorded."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import as_json, invoke
from devices import need_programs
from graphs.steps import elementwise
from variant_files import variants

import tflgpu
from tflgpu.compiler import ModelError, OptionError, Options, UnsupportedError, pipeline
from tflgpu.compiler.emit import folder as emitted
from tflgpu.compiler.errors import Finding, ModelFileError
from tflgpu.compiler.fleet import workers
from tflgpu.compiler.fleet.api import place
from tflgpu.compiler.fleet.result import Result
from tflgpu.compiler.fleet.run import Rows, run
from tflgpu.compiler.fleet.tasks import matrix
from tflgpu.compiler.fleet.workers import Here
from tflgpu.compiler.litert.child import Child
from tflgpu.runtime import PlanError
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.errors import TflgpuWarning

DEVICES = ("mali", "gpu")


def compiled(folder: Path, store: Path, **options: Any) -> list[Result]:
    return list(tflgpu.compile_many([folder], store, **{"devices": DEVICES, **options}))


def statuses(results: list[Result]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for result in results:
        found.setdefault(result.task.model.stem, []).append(result.status)
    return found


def rows(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((store / "manifest.json").read_text())["variants"]
    return found


def timeless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "time": 0} for row in found]


def test_the_bytes_are_those_of_single_compilations(folder: Path, tmp_path: Path) -> None:
    found = compiled(folder, tmp_path / "store", precisions=("f32", "f16"))
    for result in found:
        if result.path is not None:
            options = result.task.options
            single = tflgpu.compile(
                result.task.model,
                tmp_path / "single",
                device=options.device,
                precision=options.precision,
            )
            assert single.name == result.variant
    assert variants(tmp_path / "store") == variants(tmp_path / "single")
    assert len({result.path for result in found if result.path}) == 12


def test_a_failing_model_stops_nothing_and_is_recorded(folder: Path, tmp_path: Path) -> None:
    (folder / "GONE.tflite").symlink_to("nowhere")
    found = compiled(folder, tmp_path / "store")
    assert statuses(found) == {
        **dict.fromkeys(("ABS", "COS", "EXP"), ["compiled"] * 2),
        **dict.fromkeys(("BAD", "GONE"), ["failed"] * 2),
    }
    (bad, _) = (row for row in rows(tmp_path / "store") if row["model"].endswith("BAD.tflite"))
    assert "not a .tflite model" in bad["error"]
    assert (bad["variant"], bad["status"], bad["bytes"]) == ("", "failed", 0)
    errors = {result.task.model.stem: result.error for result in found if result.error}
    assert isinstance(errors["GONE"], ModelError) and "No such file" in str(errors["GONE"])


def test_a_failure_names_the_file_and_not_an_equal_one(folder: Path, tmp_path: Path) -> None:
    """Whether the equal one fails in the same run or did in an earlier one."""
    first, moved = folder / "BAD.tflite", tmp_path / "moved" / "BAD.tflite"
    moved.parent.mkdir()
    moved.write_bytes(first.read_bytes())
    for models in ([first, moved], [moved]):
        *_, found = tflgpu.compile_many(models, tmp_path / "store", devices=["gpu"])
        assert str(found.error).startswith(f"{moved}: not a .tflite model")
        assert found.row.error == str(found.error)


def test_the_manifest_describes_each_variant(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    compiled(folder, store)
    (row,) = (row for row in rows(store) if "ABS" in row["model"] and row["profile"] == "mali")
    variant = store / row["fingerprint"] / row["variant"]
    assert row["model"] == str(folder / "ABS.tflite")
    assert row["bytes"] == sum(path.stat().st_size for path in variant.rglob("*") if path.is_file())
    assert row["findings"] == [] and row["seconds"] > 0
    assert (row["target"], row["precision"], row["status"]) == ("opencl", "f32", "compiled")


def test_findings_are_recorded_and_remembered(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ABS", "Mystery")
    options = Options(custom_ops=("Mystery",))
    (result,) = tflgpu.compile_many([model], tmp_path, devices=["gpu"], options=options)
    assert result.status == "compiled"
    (failed,) = tflgpu.compile_many(
        [model], tmp_path, devices=["gpu"], options=Options(fallback="none")
    )
    assert [item["operator"] for item in failed.findings] == ["Mystery"]


def test_the_next_run_removes_what_a_killed_process_left(folder: Path, tmp_path: Path) -> None:
    store, model = tmp_path / "store", folder / "ABS.tflite"
    (result,) = tflgpu.compile_many([model], store, devices=["gpu"])
    variant = Path(str(result.path))
    os.rename(variant, variant.parent / f".{variant.name}.n9x_2k1d.tmp")
    (store / ".manifest.k3v81x0_.tmp").write_text("{")
    (result,) = tflgpu.compile_many([model], store, devices=["gpu"])
    assert result.status == "compiled"
    locks = {".manifest.json.lock", f".{variant.name}.lock"}
    assert {path.name for path in store.rglob(".*")} == locks


def test_what_is_there_is_not_compiled_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    compiled(folder, store)
    (folder / "BAD.tflite").unlink()
    before = rows(store)
    monkeypatch.setattr(pipeline, "build", lambda *_: 1 / 0)
    found = compiled(folder, store)
    assert {result.status for result in found} == {"present"}
    kept = [{**row, "status": "present" if row["variant"] else "failed"} for row in before]
    assert timeless(rows(store)) == timeless(kept)
    # Nor if the manifest is lost, or the models have other names.
    (store / "manifest.json").unlink()
    (folder / "ABS.tflite").rename(folder / "Z.tflite")
    assert {result.status for result in compiled(folder, store)} == {"present"}


def test_a_model_that_cannot_be_compiled_is_not_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elementwise(folder / "OWN.tflite", "ABS", "Mystery")
    before = compiled(folder, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "build", lambda *_: 1 / 0)
        again = compiled(folder, tmp_path)

    def errors(results: list[Result]) -> list[tuple[type, str, Any]]:
        failed = [result for result in results if result.error]
        found = [(type(item.error), str(item.error), item.findings) for item in failed]
        return sorted(found, key=lambda item: item[1])

    assert errors(again) == errors(before)
    assert {kind for kind, *_ in errors(again)} == {ModelError, UnsupportedError}
    # With another LiteRT, or if it is asked for, it may be possible.
    for changed in ({"litert_version": lambda: "0.0"}, {}):
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "build", lambda *_: 1 / 0)
            for name, value in changed.items():
                patch.setattr(workers, name, value)
            tasks = matrix([folder / "OWN.tflite"], [Options(device="gpu")])
            (result,) = run(tasks, place(tmp_path), Here(), again=not changed)
        assert isinstance(result.error, ZeroDivisionError)


@pytest.mark.parametrize("reason", [MemoryError(), ModelFileError("unreadable"), "killed"])
def test_failures_for_other_reasons_are_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: Exception | str
) -> None:
    def fail(*arguments: Any) -> Any:
        if isinstance(reason, Exception):
            raise reason
        Child.unanswered += 1  # as if LiteRT had been killed, which makes an operator unsupported
        raise UnsupportedError([Finding(0, "ABS", "LiteRT crashes on this model (SIGKILL)")])

    (folder / "BAD.tflite").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "build", fail)
        assert {result.status for result in compiled(folder, tmp_path)} == {"failed"}
    assert {result.status for result in compiled(folder, tmp_path)} == {"compiled"}
    assert {row["status"] for row in rows(tmp_path)} == {"compiled"}


def test_files_are_read_again_if_anything_has_changed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "BAD.tflite").unlink()
    compiled(folder, tmp_path)
    read: list[Path] = []

    def reading(variant: Path) -> Any:
        read.append(variant)
        return read_variant(variant)

    monkeypatch.setattr("tflgpu.compiler.fleet.place.read_variant", reading)
    compiled(folder, tmp_path)
    assert read == []
    weights = next(tmp_path.glob("*/*/plan.tflgpu"))
    content, times = weights.read_bytes(), weights.stat()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [result.status for result in compiled(folder, tmp_path)].count("compiled") == 1
    assert read == [weights.parent]


def test_a_damaged_variant_is_compiled_again(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    compiled(folder, store)
    whole = variants(store)
    weights = next(store.glob("*/*/plan.tflgpu"))
    weights.write_bytes(weights.read_bytes()[:-1])
    assert sorted(result.status for result in compiled(folder, store)) == [
        "compiled",
        *["failed"] * 2,
        *["present"] * 5,
    ]
    assert variants(store) == whole


def test_an_estimate_is_made_again(tmp_path: Path, folder: Path) -> None:
    need_programs("glslangValidator")
    options = Options(target="vulkan", precision="f16", keep_f32=("auto",))
    common: dict[str, Any] = {"devices": ["gpu"], "precisions": ["f16"], "options": options}
    for _ in range(2):
        with pytest.warns(TflgpuWarning, match="no device measured the error"):
            (result,) = tflgpu.compile_many([folder / "ABS.tflite"], tmp_path, **common)
        assert (result.status, result.row.request) == ("compiled", result.variant)
    assert len(rows(tmp_path)) == 1


def test_the_newest_row_counts(folder: Path, tmp_path: Path) -> None:
    (found, *_) = (result.row for result in compiled(folder, tmp_path) if result.variant)
    where = place(tmp_path)
    where.add_rows(
        [
            replace(found, model=f"{time}", variant=variant, stamp=f"{time}", time=time)
            for time, variant in ((found.time + 2, found.variant), (1.0, found.variant), (9e9, ""))
        ]
    )
    newest = Rows(where).find(found.fingerprint, found.request)
    assert newest is not None and newest.time == found.time + 2


def test_equal_models_are_compiled_once(folder: Path, tmp_path: Path) -> None:
    (folder / "COPY.tflite").write_bytes((folder / "ABS.tflite").read_bytes())
    found = statuses(compiled(folder, tmp_path / "store"))
    assert (found["ABS"], found["COPY"]) == (["compiled"] * 2, ["present"] * 2)
    assert len(rows(tmp_path / "store")) == 10


def test_a_tuning_table_is_part_of_what_is_asked_for(folder: Path, tmp_path: Path) -> None:
    store, table = tmp_path / "store", tmp_path / "table.json"
    table.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    options = Options(tuning=str(table))
    first = statuses(compiled(folder, store, options=options))
    assert first["ABS"] == ["compiled"] * 2
    assert statuses(compiled(folder, store, options=options))["ABS"] == ["present"] * 2
    table.write_text(json.dumps({"device": "another", "kernels": {}}))
    assert statuses(compiled(folder, store, options=options))["ABS"] == ["compiled"] * 2
    table.write_text("[]")
    with pytest.raises(OptionError, match="is not a tuning table"):
        compiled(folder, store, options=options)


def test_runs_keep_each_others_rows(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    one = tflgpu.compile_many([folder], store, devices=["mali"])
    next(one)
    compiled(folder, store, devices=["gpu"])
    list(one)
    kept = [row for row in rows(store) if row["variant"]]
    assert sorted(row["profile"] for row in kept) == [*["gpu"] * 3, *["mali"] * 3]


def test_a_run_that_ends_early_is_continued(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    begun = tflgpu.compile_many([folder], store, devices=DEVICES)
    names = [next(begun).task.model.stem for _ in range(3)]
    begun.close()  # type: ignore[attr-defined]
    assert len(rows(store)) == 3
    found = compiled(folder, store)
    # Those that were being written when the run ended are there as well.
    assert [result.status for result in found].count("present") >= 3 - names.count("BAD")


def test_a_full_store_ends_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, written = tmp_path / "store", 0
    write = emitted._write

    def full(*arguments: Any) -> None:
        nonlocal written
        written += 1
        if written > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(*arguments)

    monkeypatch.setattr(emitted, "_write", full)
    with pytest.raises(PlanError, match=r"cannot write .*: No space left on device"):
        compiled(folder, store)
    assert len(list(store.glob("*/*/plan.tflgpu"))) == len(list(store.glob("*/opencl-*"))) == 2
    assert len([row for row in rows(store) if row["variant"]]) == 2
    monkeypatch.undo()
    assert statuses(compiled(folder, store))["EXP"] == ["compiled"] * 2


def test_a_store_that_cannot_be_written_is_an_error_at_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="a cache is a folder"):
        compiled(folder, tmp_path / "file")
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(PlanError, match=r"manifest.json is not a manifest of tflgpu: "):
        compiled(folder, tmp_path)


def test_manifests_of_others(folder: Path, tmp_path: Path) -> None:
    compiled(folder, tmp_path)
    file = tmp_path / "manifest.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "format": 3}))
    with pytest.raises(PlanError, match="has format 3, this version of tflgpu reads 2; use"):
        compiled(folder, tmp_path)
    file.write_text(json.dumps({"format": 1, "variants": [{}]}))
    assert statuses(compiled(folder, tmp_path))["ABS"] == ["present"] * 2
    wrong: dict[str, Any]
    for wrong in ({"fingerprint": []}, {"seconds": "1"}, {"findings": {}}, {"findings": [1]}):
        row = {**content["variants"][0], **wrong}
        file.write_text(json.dumps({**content, "variants": [row]}))
        with pytest.raises(PlanError, match=f"wrong type of {next(iter(wrong))}; rem"):
            compiled(folder, tmp_path)


def test_a_text_in_place_of_a_list(folder: Path, tmp_path: Path) -> None:
    for wrong in ({"devices": "mali"}, {"precisions": "f16"}):
        with pytest.raises(OptionError, match=r"(devices|precisions)='.*': give a list, such as "):
            compiled(folder, tmp_path, **wrong)
    models: Any
    for models in (str(folder), folder):
        with pytest.raises(OptionError, match=r"models=.*: give a list, such as \['/"):
            list(tflgpu.compile_many(models, tmp_path))


def test_kernels_that_the_driver_refuses_do_not_make_a_compilation_fail(
    folder: Path, tmp_path: Path, driver: str
) -> None:
    (folder / "BAD.tflite").unlink()
    common = ("compile", folder, "-o", tmp_path / "store", "--device", "gpu")
    wrong = invoke(*common, "--prebuild", "abacus", code=1)
    assert wrong.stdout.startswith("3 compiled\n")
    assert wrong.stderr.startswith(
        "error: kernels of 3 variants cannot be compiled by the driver:\n"
    )
    assert "ABS.tflite for opencl-f32-gpu: no OpenCL device has 'abacus'" in wrong.stderr
    assert {row["status"] for row in rows(tmp_path / "store")} == {"compiled"}


def test_the_table_comes_with_warnings(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ABS", "Mystery")
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"device": "abacus", "kernels": {}}))
    command = ("compile", model, "-o", tmp_path / "store", "--device", "gpu", "--device", "mali")
    shown = invoke(*command, "--custom-op", "Mystery", "--tuning", table).stderr
    assert f"{model}: {table}, measured on abacus, has no sizes for kernels of this" in shown


def test_the_command_lists_results_and_failures(folder: Path, tmp_path: Path) -> None:
    common = ("compile", folder, "-o", tmp_path / "store")
    columns = ("--device", "mali", "--device", "gpu", "--precision", "f32", "--precision", "f16")
    result = invoke(*common, *columns, code=1)
    first, _, *lines = result.stdout.splitlines()
    assert first == "12 compiled, 4 failed"
    assert [line.split()[1].rsplit("-", 1)[0] for line in lines[:4]] == [
        *("opencl-f32-mali", "opencl-f16-mali", "opencl-f32-gpu", "opencl-f16-gpu")
    ]
    assert result.stderr.startswith("error: 4 of 16 compilations failed:\n")
    (folder / "BAD.tflite").unlink()
    value = as_json(*common, *columns)
    assert value["manifest"] == str(tmp_path / "store" / "manifest.json")
    assert {row["status"] for row in value["variants"]} == {"present"}
    assert all(Path(row["path"]).is_dir() for row in value["variants"])
    shown = invoke(*common, "--device", "amd", "--verbose").stderr.splitlines()
    assert shown[0].startswith("1 of 3, about ") and shown[0].endswith("compiled")


def test_a_table_of_several_keeps_operators_only_in_half_precision(folder: Path) -> None:
    command = ("compile", folder / "ABS.tflite", "-o", folder / "s", "--device", "gpu")
    both = ("--precision", "f32", "--precision", "f16")
    value = as_json(*command, *both, "--keep-f32", "ABS")
    assert [row["precision"] for row in value["variants"]] == ["f32", "f16"]
    message = invoke(*command, "--keep-f32", "ABS", code=1).stderr
    assert "choose precision='f16'" in message
