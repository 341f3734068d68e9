"""Builds the C programs of docs/deploying.md and of the samples as they stand, and runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from devices import need_programs, unavailable
from paths import DIGITS, ROOT
from PIL import Image

from docs.pages import blocks

pytestmark = pytest.mark.slow

STRICT = "-std=c99 -Wall -Wextra -Wpedantic -Werror"
# The files that the page shows, by name.
PAGE = {
    block.note.removeprefix("file "): block.text
    for block in blocks("docs/deploying.md")
    if block.note.startswith("file ")
}

# What the page uses of Java's jni.h.
JNI = """
#include <stdint.h>
#define JNIEXPORT
#define JNICALL
typedef int64_t jlong;
typedef int32_t jint;
typedef struct object *jobject, *jclass, *jstring;
typedef unsigned char jboolean;
typedef const struct functions *JNIEnv;
struct functions {
  jclass (*FindClass)(JNIEnv *, const char *);
  jint (*ThrowNew)(JNIEnv *, jclass, const char *);
  void *(*GetDirectBufferAddress)(JNIEnv *, jobject);
  jlong (*GetDirectBufferCapacity)(JNIEnv *, jobject);
  const char *(*GetStringUTFChars)(JNIEnv *, jstring, jboolean *);
  void (*ReleaseStringUTFChars)(JNIEnv *, jstring, const char *);
};
"""


@pytest.fixture(scope="module")
def commands() -> list[str]:
    """The commands in the comment of samples/digits/classify.c."""
    comment = (DIGITS / "classify.c").read_text(encoding="utf-8").partition("*/")[0]
    lines = re.findall(r"^ \*     (.*)$", comment, re.MULTILINE)
    return "\n".join(lines).replace("\\\n", " ").splitlines()


@pytest.fixture(scope="module")
def workplace(commands: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program `classify` and what it was built from."""
    need_programs("gcc", "cmake", "aarch64-linux-gnu-gcc")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "samples").symlink_to(ROOT / "samples")
    for command in commands[:-1]:
        shell(folder, command.replace("cc -std=c99", f"gcc {STRICT}"))
    shell(folder, "tflgpu export shipped/ -o digits/ --name digits")
    for name, text in PAGE.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def shell(folder: Path, command: str) -> str:
    """Run a command that must succeed; returns what it prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    if "there is no libOpenCL" in done.stderr or "no OpenCL device" in done.stderr:
        unavailable("a program finds no OpenCL driver of the system")
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(("mode", "kind"), [("L", "pgm"), ("RGB", "ppm")])
def test_classify(commands: list[str], workplace: Path, mode: str, kind: str) -> None:
    with Image.open(DIGITS / "images" / "7.png") as picture:
        picture.convert(mode).save(workplace / f"7.{kind}")
    printed = shell(workplace, commands[-1].replace("pgm", kind))
    assert re.fullmatch(r"7  \(9\d\.\d %\)\n", printed)


@pytest.mark.parametrize("content", [b"", b"P5 80 80 255\nshort", b"P6 4 4 255\n" + bytes(48)])
def test_what_is_no_picture_is_refused(workplace: Path, content: bytes) -> None:
    (workplace / "bad.pgm").write_bytes(content)
    command = ["./classify", "bad.pgm"]
    ran = subprocess.run(command, cwd=workplace, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "bad.pgm is not a PGM or PPM file of 8 x 8 pixels or more\n"


def test_programs_of_the_page(workplace: Path) -> None:
    assert set(PAGE) == {"program.c", "bound.c", "frame.c", "CMakeLists.txt", "classifier.c"}
    sources = "program.c bound.c frame.c digits/digits_model.c digits/tflgpu*.c digits/images/*.c"
    shell(workplace, f"gcc {STRICT} -Idigits -Idigits/images -o program {sources} -ldl -lpthread")
    assert 0 <= float(shell(workplace, "./program")) <= 1
    assert (workplace / "kernels").stat().st_mode & 0o777 == 0o700


def test_the_library_for_android(workplace: Path) -> None:
    """CMake builds it for arm64, with another compiler than Android's."""
    (workplace / "jni.h").write_text(JNI)
    shell(
        workplace,
        "cmake -S . -B build -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 "
        f"-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_C_FLAGS='{STRICT} -I{workplace}' "
        "&& cmake --build build",
    )
    symbols = shell(workplace, "aarch64-linux-gnu-nm -D --defined-only build/libclassifier.so")
    for name in ("open", "run", "close"):
        assert f"Java_org_example_Classifier_{name}\n" in symbols
