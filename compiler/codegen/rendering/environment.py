"""The jinja2 environment of kernel templates."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import jinja2
from jinja2.environment import TemplateModule
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context

from .... import templates
from ...language.expression import Expression
from ...language.statement import Statements, statements
from .declarations import FILTERS
from .kept_templates import KeptTemplates
from .tags import StatementTags


class _Template(jinja2.Template):
    """A template that others import is rendered once for a kernel, whose `modules` hold it."""

    def make_module(
        self,
        vars: dict[str, Any] | None = None,
        shared: bool = False,
        locals: Mapping[str, Any] | None = None,
    ) -> TemplateModule:
        modules: dict[str | None, TemplateModule] = (vars or {})["modules"]
        if self.name not in modules:
            modules[self.name] = super().make_module(vars, shared, locals)
        return modules[self.name]


class _Context(Context):
    """Calls functions without asking whether they want the context, as none of a template does."""

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        return function(*args, **kwargs)


class _Environment(jinja2.Environment):
    """Macros that hold nothing but an expression, or statements, return them instead of text."""

    code_generator_class = NativeCodeGenerator
    context_class = _Context
    template_class = _Template

    @staticmethod
    def concat(values: Iterable[Any]) -> Any:
        parts = list(values)
        found = [part for part in parts if part.__class__ is not str or part.strip()]
        if len(found) == 1 and isinstance(found[0], (Statements, Expression, int)):
            return found[0]
        if Statements in map(type, found) or any(isinstance(part, Expression) for part in found):
            return statements(parts)
        return "".join(map(str, parts))


@cache
def environment() -> jinja2.Environment:
    """The environment of all kernel templates; undefined names are errors."""
    made = _Environment(
        loader=jinja2.FunctionLoader(templates.source),
        bytecode_cache=KeptTemplates(),
        extensions=["jinja2.ext.do", StatementTags],
        undefined=jinja2.StrictUndefined,
        optimized=False,  # there is nothing to fold, which takes longer to find out than to render
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters.update(FILTERS)
    return made
