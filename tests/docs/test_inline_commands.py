"""Commands and options within sentences: each is one that a command takes."""

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from tflgpu.compiler.cli import main

from .pages import PAGES, prose

_SPAN = re.compile(r"`(?:tflgpu[ -](?P<command>[a-z][^`]*)|(?P<options>--[a-z][^`]*))`")


def commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, such as cache list."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in commands(command))


COMMANDS = dict(commands(main))


def taken(command: click.Command, words: list[str]) -> str:
    """Why a command does not take these words; empty if it does. A lone option needs no value."""
    context = click.Context(command, info_name="tflgpu", **command.context_settings)
    parameters = {name: p for p in command.params for name in p.opts}
    if words and words[-1] in parameters:
        words = words[:-1]
    try:
        given, _, _ = command.make_parser(context).parse_args(words)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name in given:
                value = given[parameter.name]
                if not isinstance(value, click.Parameter):
                    parameter.process_value(context, value)
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("page", PAGES)
def test_inline_commands_are_taken(page: str) -> None:
    for span in _SPAN.finditer(prose(page).replace("\n", " ")):
        text = span["command"] or span["options"]
        words = [word.partition("|")[0] for word in shlex.split(text)]
        if span["options"]:
            reasons = [taken(command, words) for command in COMMANDS.values()]
            assert "" in reasons, f"{span[0]}: {sorted(set(reasons), key=len)[-1]}"
        else:
            longest = max((n for n in (2, 1) if " ".join(words[:n]) in COMMANDS), default=0)
            assert longest, f"{span[0]}: there is no such command"
            command = COMMANDS[" ".join(words[:longest])]
            assert not (reason := taken(command, words[longest:])), f"{span[0]}: {reason}"
