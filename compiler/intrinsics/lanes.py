"""The lanes of a slice: choices, sums and extremes, and their transposition."""

from typing import Any

from ..language.expression import Expression
from ..language.primary import Call, Member
from ..language.types import FLOAT
from .intrinsic import Formula, intrinsic


def _by_pairs(joined: Formula) -> Formula:
    def formula(f: Any, v: Expression) -> Any:
        x, y, z, w = f.each_lane(v)
        return joined(f, joined(f, x, y), joined(f, z, w))

    return formula


def _by_halves(joined: Formula) -> Formula:
    def formula(f: Any, v: Expression) -> Any:
        count = f.lanes // 2
        while count > 1:
            type = f"float{count}"
            v = f.let(f"v{count}", joined(f, Member(v, "lo", type), Member(v, "hi", type)))
            count //= 2
        return joined(f, Member(v, "lo", FLOAT), Member(v, "hi", FLOAT))

    return formula


# fmt: off
LANES = (
    intrinsic("choose_last v:floats other:floats count:int -> floats",
        "v in its last `count` lanes, and `other` before",
        lambda f, v, other, n: f.select(f.greater_equal(f.lane_numbers, f.lanes - n), v, other)),
    intrinsic("keep_lanes v:floats count:int -> floats", "v with zeros from lane `count` on",
        lambda f, v, count: f.select(f.less(f.lane_numbers, count), v, 0.0)),
    intrinsic("fill_lanes v:floats count:int rest:float -> floats",
        "v with `rest` from lane `count` on",
        lambda f, v, count, rest: f.select(f.less(f.lane_numbers, count), v, rest)),
    intrinsic("lane_places -> floats", "the index of each lane, as floats",
        lambda f: f.floats(*range(f.lanes))),
    intrinsic("sum_lanes v:floats -> float", "the sum of all lanes of a variable",
        lambda f, v: Call("dot", v, f.floats(1.0), type=FLOAT),
        opencl=_by_halves(lambda f, a, b: a + b)),
    intrinsic("min_lanes v:floats -> float", "the smallest lane of a variable",
        _by_pairs(lambda f, a, b: f.min(a, b)), opencl=_by_halves(lambda f, a, b: f.min(a, b))),
    intrinsic("max_lanes v:floats -> float", "the largest lane of a variable",
        _by_pairs(lambda f, a, b: f.max(a, b)), opencl=_by_halves(lambda f, a, b: f.max(a, b))),
    # Each round adds parts of two slices: halves, quarters, pairs, and single lanes. A call would
    # pass the array through memory.
    intrinsic("sums_of_lanes v:floats[] -> floats",
        "the sums of the lanes of each of S slices in an array, as one slice", opencl="""
inline __attribute__((always_inline)) {{ floatS }} sums_of_lanes(const {{ floatS }}* v) {
  {{ floatS }} part[4], pair[2];
  #pragma unroll
  for (int n = 0; n < 4; n++) {
{% if S == 16 %}
    float16 p = (float16)(v[n].lo, v[n + 4].lo) + (float16)(v[n].hi, v[n + 4].hi);
    float16 q = (float16)(v[n + 8].lo, v[n + 12].lo) + (float16)(v[n + 8].hi, v[n + 12].hi);
    part[n] = (float16)(p.s0123, p.s89ab, q.s0123, q.s89ab)
            + (float16)(p.s4567, p.scdef, q.s4567, q.scdef);
{% elif S == 8 %}
    part[n] = (float8)(v[n].lo, v[n + 4].lo) + (float8)(v[n].hi, v[n + 4].hi);
{% else %}
    part[n] = v[n];
{% endif %}
  }
{% set fours = ("0123", "4567", "89ab", "cdef")[:S // 4] %}
{% macro halves(a, b) %}
({{ floatS }})(
{%- for f in fours %}p.s{{ f[a] }}{{ f[b] }}, q.s{{ f[a] }}{{ f[b] }}{{ ", " if not loop.last }}
{%- endfor %})
{%- endmacro %}
  #pragma unroll
  for (int n = 0; n < 2; n++) {
    {{ floatS }} p = part[2 * n], q = part[2 * n + 1];
    pair[n] = {{ halves(0, 1) }}
        + {{ halves(2, 3) }};
  }
  {{ floatS }} p = pair[0], q = pair[1];
  return {{ halves(0, 2) }}
     + {{ halves(1, 3) }};
}"""),
    # Each round moves the first bit of the number of a row to the end of the number of a lane, and
    # the first bit of the latter to the end of the former.
    intrinsic("transpose_lanes rows:floats[]", "transpose S slices in an array", opencl="""
void transpose_lanes({{ floatS }}* rows) {
  {{ floatS }} shuffled[{{ S }}];
  #pragma unroll
  for (int round = 0; round < {{ {4: 2, 8: 3, 16: 4}[S] }}; round++) {
    #pragma unroll
    for (int n = 0; n < {{ S // 2 }}; n++) {
      shuffled[2 * n].even = rows[n].lo;
      shuffled[2 * n].odd = rows[n + {{ S // 2 }}].lo;
      shuffled[2 * n + 1].even = rows[n].hi;
      shuffled[2 * n + 1].odd = rows[n + {{ S // 2 }}].hi;
    }
    #pragma unroll
    for (int n = 0; n < {{ S }}; n++) rows[n] = shuffled[n];
  }
}"""),
)
# fmt: on
