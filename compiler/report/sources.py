"""Kernel sources as highlighted HTML."""

from html import escape

from pygments.lexer import Lexer
from pygments.lexers.c_cpp import CLexer
from pygments.lexers.graphics import GLShaderLexer
from pygments.token import Comment, Keyword, Literal, Name

from ...runtime.cache.variant import Variant

# The CSS class of each kind of token that has a colour; the first that fits counts.
CLASSES = (
    (Comment.Preproc, "sp"),
    (Comment, "sc"),
    (Keyword.Type, "st"),
    (Keyword, "sk"),
    (Name.Function, "sf"),
    (Name.Builtin, "st"),
    (Literal.Number, "sn"),
    (Literal.String, "ss"),
)


def highlighted_sources(variant: Variant) -> dict[str, str]:
    """The source of each kernel as HTML, by `Kernel.file`."""
    lexer = CLexer() if variant.plan.target == "opencl" else GLShaderLexer()
    return {file: highlighted(text, lexer) for file, text in variant.sources.items()}


def highlighted(text: str, lexer: Lexer) -> str:
    """A source as HTML with a span around each coloured run of tokens.

    Most tokens of a kernel are plain, so that this is a fraction of what Pygments' own formatter
    writes, which marks all of them.
    """
    pieces: list[tuple[str, str]] = []
    for kind, value in lexer.get_tokens(text):
        name = next((name for parent, name in CLASSES if kind in parent), "")
        if pieces and pieces[-1][0] == name:
            pieces[-1] = (name, pieces[-1][1] + value)
        else:
            pieces.append((name, value))
    return "".join(
        f'<span class="{name}">{escape(value, quote=False)}</span>'
        if name
        else escape(value, quote=False)
        for name, value in pieces
    )
