"""Train a small transformer on the pages of this project and write it as text.tflite.

    python samples/text/train_network.py

takes four minutes on two cores. Needs PyTorch and litert-torch, which converts the network:

    pip install litert-torch
"""

from pathlib import Path

import litert_torch
import torch
from network import CHARACTERS, CONTEXT, Decode, Network, Prefill, empty_cache
from torch.nn import functional

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SEED, STEPS, BATCH, RATE = 1, 1200, 16, 3e-3
CHUNK = 32  # Tokens of a prompt that are put into the cache at once.


def text() -> str:
    """The pages that a reader of the project sees."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return "".join(page.read_text() for page in pages)


def train(network: Network, tokens: torch.Tensor) -> None:
    """AdamW on the cross entropy, with a step size that falls to zero; prints the loss."""
    generator = torch.Generator().manual_seed(SEED)
    optimizer = torch.optim.AdamW(network.parameters(), RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, STEPS, pct_start=0.05)
    for step in range(STEPS):
        starts = torch.randint(len(tokens) - CONTEXT, (BATCH, 1), generator=generator)
        batch = tokens[starts + torch.arange(CONTEXT + 1)]
        scores = network(batch[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"step {step + 1}: {loss.item():.3f} nats a character", flush=True)


def export(network: Network, path: Path) -> None:
    """Both signatures, which share their weights in the file."""
    start, cache = torch.zeros(1, dtype=torch.int32), empty_cache()

    def inputs(count: int) -> dict[str, torch.Tensor]:
        return {"tokens": torch.zeros((1, count), dtype=torch.int32), "start": start, **cache}

    converter = litert_torch.signature("prefill", Prefill(network).eval(), (), inputs(CHUNK))
    converter.signature("decode", Decode(network).eval(), (), inputs(1))
    converter.convert().export(str(path))


def main() -> None:
    torch.manual_seed(SEED)
    network = Network()
    numbers = {character: number for number, character in enumerate(CHARACTERS)}
    train(network, torch.tensor([numbers[character] for character in text()]))
    export(network, HERE / "text.tflite")


if __name__ == "__main__":
    main()
