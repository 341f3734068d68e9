"""Operators that are several simpler ones are spelled out.

    y = L2_NORMALIZATION(x)
    becomes   y = DIV(x, MAXIMUM(SQRT(SUM(SQUARE(x))), 1e-6))

`compiler/expand/` says which and how; what an operator becomes may be spelled out in turn.
"""

from __future__ import annotations

from ...devices import Profile
from ...errors import Finding, ModelError, UnsupportedError
from ...events import Event, describe
from ...ir import Graph
from ...select.refusals import unknown_operators
from ..rewrite import check
from . import EXPANSIONS, Expansion

RULE = "expand_operators"


def expand_operators(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it until nothing is left to spell out.

    ModelError where operands make no sense, UnsupportedError with all findings.
    """
    events = []
    findings: list[Finding] = []
    declined: set[object] = set()
    while waiting := [op for op in graph.ops if op.name in EXPANSIONS and op not in declined]:
        for op in waiting:
            name = describe(op)
            try:
                reason = EXPANSIONS[op.name](Expansion(graph, op, profile))
            except UnsupportedError as error:
                findings += error.findings
                declined.add(op)
                continue
            except (ArithmeticError, IndexError, KeyError, TypeError) as error:
                raise ModelError(f"operator {name} makes no sense: {error}") from error
            events.append(Event(RULE, (name,), reason))
            if reason is not None:
                declined.add(op)
            check(graph, RULE)
    if findings:
        findings += unknown_operators(graph)
        raise UnsupportedError(sorted(findings, key=lambda finding: finding.index))
    return events
