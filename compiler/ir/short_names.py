"""Long names of tensors, shortened for tables and for the comments of kernels.

PyTorch's converters name a tensor after the classes and names of all modules around it:

    timm.VisionTransformer/torch.nn.Sequential_blocks/timm.Block_8/timm.Attention_attn;6

becomes `blocks/8/Attention_attn;6`. TensorFlow's have a common beginning, and often name several
operators, separated by semicolons, of which the first is shown.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile

LONG = 48  # Characters of a name from which on all names beside it are shortened.

# A word with components, as names of tensors are; other words are never shortened.
_NAME = re.compile(r"[^\s,()]*/[^\s,()]*")

_NUMBER = re.compile(r"\d*(/|$)")  # The number that PyTorch's converters put at the end of a name.

# A component of PyTorch: the path of a class, its name, and that of the module unless it is the
# whole model.
_MODULE = re.compile(r"(?:[\w<>]+\.)+(?P<shown>(?:_?[A-Z<][A-Za-z0-9<>]*)(?:_(?P<instance>\w+))?)")


def short_names(texts: Iterable[str]) -> Mapping[str, str]:
    """A shorter name for each, different ones for different names; none if no name is long."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    if not any(len(name) >= LONG for name in names):
        return {}
    for shorten in (_first, _each, _whole, _with_classes):
        short = _shortened(names, shorten)
        uses = Counter(short.values())
        if len(uses) == len(short):
            break
    return {name: text if uses[text] == 1 else name for name, text in short.items()}


def _shortened(names: Iterable[str], shorten: Callable[[str], list[str]]) -> dict[str, str]:
    paths = {name: shorten(name) for name in names}
    common = _shared([path for path in paths.values() if len(path) > 1])
    return {name: "/".join(path[common if len(path) > 1 else 0 :]) for name, path in paths.items()}


def with_short_names(text: str, short: Mapping[str, str]) -> str:
    return _NAME.sub(lambda word: short.get(word[0], word[0]), text)


def _first(name: str) -> list[str]:
    """The components of the first name in a name, with the number at its end if there is one, and
    what the compiler put behind that."""
    first, *others = name.split(";")
    numbers = [f";{other}" for other in others[-1:] if _NUMBER.match(other)]
    more = [";..."] if len(others) > len(numbers) else []
    return _joined(first, "".join([*more, *numbers]))


def _each(name: str) -> list[str]:
    """The components of the first name in a name, with the last ones of the others."""
    first, *others = name.split(";")
    texts = (other if _NUMBER.match(other) else _components(other)[-1] for other in others)
    return _joined(first, "".join(f";{text}" for text in texts))


def _whole(name: str, classes: bool = False) -> list[str]:
    """The components of the first name in a name, with those of the others from where they part."""
    path, *others = (_components(part, classes) for part in name.split(";"))
    texts = ("/".join(other[_shared([path, other]) :]) for other in others)
    return [*path[:-1], path[-1] + "".join(f";{text}" for text in texts)]


def _with_classes(name: str) -> list[str]:
    """As `_whole`, with classes, which tell apart modules of several lists."""
    return _whole(name, classes=True)


def _joined(first: str, rest: str) -> list[str]:
    *path, last = _components(first)
    return [*path, last + rest]


def _components(name: str, classes: bool = False) -> list[str]:
    """The components of a name; those of PyTorch with classes if asked, and always the last one."""
    *path, last = name.split("/")
    modules = [_MODULE.fullmatch(part) for part in path]
    found = "shown" if classes else "instance"
    shown = [
        module[found] if module else part
        for part, module in zip(path, modules, strict=True)
        if not module or module["instance"]
    ]
    module = _MODULE.fullmatch(last)
    return [*shown, module["shown"] if module else last]


def _shared(paths: list[list[str]]) -> int:
    """How many components all paths begin with, without the last of each; 0 for a single one."""
    parts = zip(*(path[:-1] for path in paths), strict=False)
    alike = takewhile(lambda part: len(set(part)) == 1, parts)
    return len(list(alike)) if len(paths) > 1 else 0
