"""The names of devices and profiles that a shell completes."""

from click.shell_completion import ShellComplete

from tflgpu.compiler.cli import main
from tflgpu.compiler.devices import profiles
from tflgpu.runtime import devices


def completed(*words: str, incomplete: str = "") -> list[str]:
    shell = ShellComplete(main, {}, "tflgpu", "_TFLGPU_COMPLETE")
    return [str(item.value) for item in shell.get_completions(list(words), incomplete)]


def test_profiles_and_devices(opencl_device: str) -> None:
    word = opencl_device.partition("): ")[2].split()[0]
    assert word in completed("run", "cache", "--device")
    assert word in completed("compile", "--prebuild")
    assert {"auto", "mali", word} <= set(completed("compile", "m.tflite", "--device"))
    assert completed("compile", "--device", incomplete="mal") == ["mali"]
    assert completed("export", "cache", "--device") == list(profiles())
    assert any(word in device.name for device in devices())


def test_commands_and_targets() -> None:
    assert completed(incomplete="exp") == ["explain", "export"]
    assert completed("compile", "--target", incomplete="v") == ["vulkan"]
