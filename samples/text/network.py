"""A small transformer for characters, in PyTorch, with a cache of keys and values."""

from collections.abc import Mapping
from typing import Any

import torch
from litert_torch.generative.custom_ops.dynamic_update_slice import dynamic_update_slice
from torch import nn
from torch.nn import functional

# What a token stands for, by its number.
CHARACTERS = "\n" + "".join(map(chr, range(ord(" "), ord("~") + 1)))
LAYERS, WIDTH, HEADS, CONTEXT = 4, 96, 4, 256

Tensor = Any
# Keys and values of all layers, each [1, heads, context, width of a head].
Cache = Mapping[str, Tensor]


def empty_cache() -> dict[str, Tensor]:
    shape = (1, HEADS, CONTEXT, WIDTH // HEADS)
    names = [f"{kind}_{layer}" for layer in range(LAYERS) for kind in ("keys", "values")]
    return {name: torch.zeros(shape) for name in names}


def normalized(x: Tensor) -> Tensor:
    """Without weights of its own: those of the linear layer that follows serve for both."""
    return functional.layer_norm(x, (WIDTH,))


class Layer(nn.Module):  # type: ignore[misc,unused-ignore]
    """Attention and two linear layers, each added to what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, seen: Tensor, past: Any = None) -> tuple[Tensor, Any]:
        """`seen` [tokens, keys] says which keys a token sees; `past` is (keys, values, start)."""
        batch, tokens, _ = x.shape
        parts = self.project(normalized(x)).view(batch, tokens, 3, HEADS, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        if past is not None:
            old_keys, old_values, start = past
            zero = torch.zeros_like(start)
            place = [zero, zero, start, zero]
            keys = dynamic_update_slice(old_keys, keys, place)
            values = dynamic_update_slice(old_values, values, place)
        joined = functional.scaled_dot_product_attention(queries, keys, values, seen)
        x = x + self.join(joined.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.down(functional.gelu(self.up(normalized(x)))), (keys, values)


class Network(nn.Module):  # type: ignore[misc,unused-ignore]
    """Tokens [batch, tokens] to the scores of what follows each, [batch, tokens, characters]."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(len(CHARACTERS), WIDTH),
            nn.Embedding(CONTEXT, WIDTH),
        )
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.scores = nn.Linear(WIDTH, len(CHARACTERS))

    def forward(self, tokens: Tensor) -> Tensor:
        """All tokens at once, for training."""
        places = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.places(places)
        for layer in self.layers:
            x, _ = layer(x, places <= places[:, None])
        return self.scores(normalized(x))

    def extend(self, tokens: Tensor, start: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """Features of tokens [1, tokens] from the place `start` on, and the cache with theirs."""
        places = start + torch.arange(tokens.shape[1], dtype=torch.int32)
        seen = torch.arange(CONTEXT, dtype=torch.int32) <= places[:, None]
        x = self.tokens(tokens) + self.places(places)
        new: dict[str, Tensor] = {}
        for number, layer in enumerate(self.layers):
            names = f"keys_{number}", f"values_{number}"
            x, kept = layer(x, seen, (*(cache[name] for name in names), start[0]))
            new.update(zip(names, kept, strict=True))
        return x, new


class Prefill(nn.Module):  # type: ignore[misc,unused-ignore]
    """Puts a part of the prompt into the cache."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, start: Tensor, **cache: Tensor) -> Cache:
        return self.network.extend(tokens, start, cache)[1]


class Decode(nn.Module):  # type: ignore[misc,unused-ignore]
    """Puts one token into the cache and gives the scores [1, characters] of what follows."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, start: Tensor, **cache: Tensor) -> Cache:
        x, new = self.network.extend(tokens, start, cache)
        return {"scores": self.network.scores(normalized(x))[:, -1], **new}
