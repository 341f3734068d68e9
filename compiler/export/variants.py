"""The tables of a variant: the devices it is for, what it needs of them, and its schedules."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import fields

from ...runtime.cache.variant import Variant
from ...runtime.plan.running import Limits
from ..devices import Rule, profiles
from .literals import array, braced, string
from .schedules import schedule_table
from .weights import Span


def span_table(number: int, spans: Sequence[Span]) -> str:
    """Where a variant's weights lie in the file, for all its signatures."""
    return array(
        "tflgpu_span",
        f"spans_{number}",
        [braced((span.to, span.start, span.size)) for span in spans],
    )


def variant_tables(variant: Variant, number: int, spans: int, prefix: str) -> tuple[str, str]:
    """The tables that a variant's row points to, and that row.

    `spans` is the number of them; names of tables start with `prefix`.
    """
    plan, needs = variant.plan, variant.plan.needs
    kinds = ("dispatches", "persistent")[: len(plan.schedules)]
    names = [f"{prefix}{kind}_{number}" for kind in kinds]
    tables = [
        schedule_table(variant, schedule, name)
        for name, schedule in zip(names, plan.schedules, strict=True)
    ]
    rules = [_rule(rule) for rule in _rules(variant)]
    ruled = f"{prefix}rules_{number}" if rules else "NULL"
    if rules:
        tables.append(array("tflgpu_rule", ruled, rules))
    text = "\n\n".join(tables)
    fields = (
        f"{string(plan.profile)}, {string(_digest(variant, text))}",
        f"{ruled}, {len(rules)}",
        f"/* needs */ {_limits(needs)}, {_text(' '.join(needs.extensions))}",
        f"/* arena */ {plan.arena_size}, /* weights */ {plan.weights_size}",
        f"{f'spans_{number}' if spans else 'NULL'}, {spans}",
        ", ".join(f"&{name}" for name in names) + ("" if len(names) > 1 else ", NULL"),
    )
    return text, "{" + ",\n     ".join(fields) + "}"


def _digest(variant: Variant, tables: str) -> str:
    """Of what compiled kernels depend on."""
    return hashlib.sha256(tables.encode() + variant.plan.weights_sha256).hexdigest()[:32]


def _rules(variant: Variant) -> list[Rule]:
    """Those of its profile for its target; a profile of the user's own has none."""
    profile = profiles().get(variant.plan.profile)
    rules = profile.match if profile else ()
    return [rule for rule in rules if rule.target in ("", variant.plan.target)]


def _rule(rule: Rule) -> str:
    parts = (rule.vendor, rule.platform, rule.name)
    texts = (rule.type, *(part.lower() for part in parts), rule.extension)
    numbers = (rule.lanes, _text(rule.instruction))
    return braced((len(rule.conditions), *map(_text, texts), *numbers))


def _text(value: str) -> str:
    return string(value) if value else "NULL"


def _limits(needs: Limits) -> str:
    """All but the extensions, as `tflgpu_limits` has them."""
    values = (getattr(needs, field.name) for field in fields(needs) if field.name != "extensions")
    return braced(braced(each) if isinstance(each, tuple) else each for each in values)
