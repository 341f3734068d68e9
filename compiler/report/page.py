"""The page: the report's contents with scripts, styles and libraries, in one HTML text."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

FOLDER = files(__package__)

LIBRARIES = ("dagre", "cytoscape")  # The libraries in `vendor`: each a script and its licence.

# The style sheets in `web/styles`, in order.
STYLES = ("theme", "layout", "tables", "graph", "details", "memory")

# The scripts in `web/scripts`, in order: each may use those before it.
SCRIPTS = (
    *("data", "format", "selection", "elements", "table", "heat", "blocks", "layout", "drawing"),
    *("outline", "details", "graph", "kernels", "memory", "rewrites", "changes", "comparison"),
    *("model", "tabs"),
)


def page(contents: dict[str, Any]) -> str:
    return _template().render(
        model=contents["model"],
        contents=_json(contents),
        licences=[_text(f"vendor/{name}.LICENSE.txt") for name in LIBRARIES],
        libraries=[_code(f"vendor/{name}.min.js") for name in LIBRARIES],
        styles=[_code(f"web/styles/{name}.css") for name in STYLES],
        scripts=[_code(f"web/scripts/{name}.js") for name in SCRIPTS],
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("web/page.html.jinja"))


@cache
def _text(name: str) -> str:
    return FOLDER.joinpath(name).read_text(encoding="utf-8")


def _code(name: str) -> Markup:
    return Markup(_text(name))


def _json(value: object) -> Markup:
    """JSON that can stand in a script element: nothing in it ends or opens one."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("</", "<\\/").replace("<!--", "\\u003c!--"))
