"""The man page of tflgpu, made from the help of its commands."""

import re
from collections.abc import Iterator

import click

from tflgpu.compiler.cli import main


def man_page() -> str:
    """The page in roff's man macros."""
    lines = ['.TH TFLGPU 1 "" tflgpu "User Commands"', ".SH NAME"]
    lines += [r"tflgpu \- compile TensorFlow Lite models to GPU kernels, and run them"]
    lines += [".SH SYNOPSIS", r".B tflgpu", r"\fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]..."]
    lines += [".SH DESCRIPTION", *_paragraphs(main.help or "")]
    lines += [".SH COMMANDS"]
    with click.Context(main, info_name="tflgpu", **main.context_settings) as context:
        lines += _commands(main, context)
    lines += [".SH EXIT STATUS", "0 if all is well; 1 if the model, the cache or the device is at"]
    lines += ["fault; 2 if the command was used incorrectly; 130 if it was interrupted."]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    """A section for each command of a group."""
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            yield from _command(command, name, context)


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A section for a command, or one for each command of a group."""
    with click.Context(command, info_name=name, parent=parent) as context:
        if isinstance(command, click.Group):
            yield from _commands(command, context)
            return
        pieces = " ".join(command.collect_usage_pieces(context))
        yield from (
            f".SS {_text(context.command_path)} {_text(pieces)}",
            *_paragraphs(command.help),
        )
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                yield from (".TP", rf"\fB{_text(record[0])}\fR", _text(record[1]))


def _paragraphs(text: str | None) -> Iterator[str]:
    for number, paragraph in enumerate((text or "").split("\n\n")):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Text as roff takes it: no line may begin with a dot, and dashes are those of options."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)
