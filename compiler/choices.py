"""The choices that a compilation is for: each signature, with each choice of its input shapes.

Names of inputs and outputs in the options are those of every signature that has them. With several
signatures, `decode/tokens` is the input `tokens` of the signature `decode` alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from .errors import ModelError
from .frontend.model_file import Model, name_of
from .frontend.reader import read_signatures
from .ir import Shape, Signature
from .options import ALL, Options
from .state_names import state_names

Value = TypeVar("Value")


def each_choice(model: Model, options: Options) -> tuple[Options, ...]:
    """The options for each choice: with one signature or none, and one shape for an input at most.

    Signatures are in the order of the options, or for `ALL` in that of the file. ModelError if the
    model has none, or lacks one of several.
    """
    found = tuple(_choices(model, options))
    return found if len(found) == 1 else tuple(replace(each, shares_weights=True) for each in found)


def _choices(model: Model, options: Options) -> Iterator[Options]:
    if not options.several_signatures:
        return _each_shapes(options)
    signatures = {item.key: item for item in read_signatures(model)}
    chosen = tuple(signatures) if options.signature == ALL else options.signature
    lacking = [key for key in chosen if key not in signatures]
    if not signatures:
        raise ModelError(f"{name_of(model)}: it has no signatures; leave out the option for them")
    if lacking:
        listed = ", ".join(signatures)
        raise ModelError(f"{name_of(model)}: it has no signature {lacking[0]}; it has {listed}")
    several = [signatures[key] for key in chosen]
    return (choice for key in several for choice in _each_shapes(_only(options, key, several)))


def _each_shapes(options: Options) -> Iterator[Options]:
    """The options for each choice of input shapes, in their order."""
    found: list[dict[str, Shape]] = [{}]
    for name, shape in options.input_shapes:
        for choice in found:
            if name not in choice:
                choice[name] = shape
                break
        else:
            found.append({name: shape})
    for choice in found:
        yield replace(options, input_shapes=tuple(choice.items()))


def _only(options: Options, signature: Signature, several: Collection[Signature]) -> Options:
    inputs = {item.key: item.inputs for item in several}
    outputs = {item.key: item.outputs for item in several}
    names = [(item.inputs, item.outputs) for item in several]
    kept = dict(zip(inputs, state_names(options.keep, names), strict=True))
    return replace(
        options,
        signature=(signature.key,),
        keep=kept[signature.key],
        input_shapes=tuple(_own(options.input_shapes, signature.key, inputs)),
        inputs=tuple(_own(options.inputs, signature.key, inputs)),
        outputs=tuple(_own(options.outputs, signature.key, outputs)),
    )


def _own(
    values: Iterable[tuple[str, Value]], key: str, names: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, Value]]:
    """The values by name that are for one of some signatures, under its own names.

    A name that fits none is kept, so that reading the model says what fits.
    """
    for name, value in values:
        owners = [other for other in names if name in names[other]]
        alone = [other for other in names if name.removeprefix(f"{other}/") in names[other]]
        if key in owners:
            yield name, value
        elif not owners and key in alone:
            yield name.removeprefix(f"{key}/"), value
        elif not owners and not alone:
            yield name, value
