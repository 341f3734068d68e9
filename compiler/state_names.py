"""Which outputs are kept as which inputs: pairs of names, in which one `*` stands for any text."""

import re
from collections.abc import Collection, Iterator, Sequence

from .errors import OptionError

# Names of outputs, each with that of the input that it updates. An input without an output, whose
# name is empty, is only read.
Pairs = tuple[tuple[str, str], ...]

Names = Collection[str]


def state_names(pairs: Pairs, signatures: Sequence[tuple[Names, Names]]) -> list[Pairs]:
    """The pairs of each signature, given by the names of its inputs and of its outputs.

    An input that any of them updates is kept in all of them. OptionError if a pair fits none, or an
    input is updated by two outputs.
    """
    found = []
    for pair in pairs:
        if not any(list(_matches(pair, *names)) for names in signatures):
            inputs, outputs = (
                ", ".join(dict.fromkeys(name for names in signatures for name in names[kind]))
                for kind in (0, 1)
            )
            raise OptionError(
                f"keep={{{pair[0]!r}: {pair[1]!r}}}: there is no such output and input; the "
                f"outputs are {outputs}, the inputs {inputs}"
            )
    for names in signatures:
        own = dict.fromkeys(match for pair in pairs for match in _matches(pair, *names))
        updated = [name for _, name in own]
        for name in updated:
            if updated.count(name) > 1:
                raise OptionError(f"keep: the input {name} is updated by several outputs")
        found.append(own)
    state = {name for own in found for _, name in own}
    return [
        (*own, *(("", name) for name in inputs if name in state - {kept for _, kept in own}))
        for own, (inputs, _) in zip(found, signatures, strict=True)
    ]


def _matches(pair: tuple[str, str], inputs: Names, outputs: Names) -> Iterator[tuple[str, str]]:
    wanted, given = pair
    if not wanted and given in inputs:
        yield pair
    pattern = "(.*)".join(map(re.escape, wanted.split("*")))
    for output in outputs:
        matched = re.fullmatch(pattern, output)
        if matched:
            name = given.replace("*", matched[1]) if matched.groups() else given
            if name in inputs:
                yield output, name
