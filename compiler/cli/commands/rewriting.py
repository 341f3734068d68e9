"""`tflgpu opt`: the text of a graph after rewrites."""

from pathlib import Path
from typing import Any

import click

from ...options import Options
from ...pipeline import target_of
from ...tools.rewrite_text import rewritten
from ..compile_options import target_options
from ..options import FilePath, parse_list, parsed
from ..shell import Command


@click.command(cls=Command, short_help="Print the graph after rewrites.")
@click.argument("graph", metavar="MODEL|TEXT", type=FilePath())
@click.option(
    "--passes",
    default="",
    callback=parsed(parse_list),
    metavar="NAME,...",
    help="Rewrites to run in this order, instead of the pipeline or after --until.",
)
@click.option(
    "--until",
    default="",
    metavar="STAGE|NAME",
    help="Run the pipeline up to a stage, such as decompose or fuse, or up to a rewrite.",
)
@click.option("--signature", metavar="NAME", help="The signature of the model whose graph it is.")
@target_options()
def opt(
    graph: Path, passes: tuple[str, ...], until: str, signature: str | None, **chosen: Any
) -> None:
    """Print the graph of a .tflite file, or of a text in a .txt file, after rewrites.

    What is printed can be read back, also after fusion. Constants of more than 16 elements are
    printed without their content; reading such a text draws it at random.
    """
    target = target_of(Options(**chosen))
    click.echo(rewritten(graph, passes, until, target, signature).text)
