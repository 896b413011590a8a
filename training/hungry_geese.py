"""Trains agents/hungry_geese/convolutional on an export of `peck dataset`.

    python3 -m venv .torch
    .torch/bin/pip install -r sandbox/profiles/torch.lock    # torch's CPU wheels need its own index
    .torch/bin/python -m training.hungry_geese dataset.npz

The network follows "Convolutional Neural Networks applied to the game Hungry Geese" (Damavis,
2021). Its input is planes of 11 x 7 x 17. Six blocks follow, each a 3 x 3 convolution with 24
filters, batch normalisation and leaky ReLU. Then come global average pooling, dense layers of 1024
and 512, dropout of one half, and four outputs. Training uses SGD with momentum 0.9 from a rate of
0.01, times 0.3 on a plateau, at least 0.0001.

Two things are ours: convolutions wrap around like the pond, and each batch is mirrored at random in
both directions. With --at-head the dense layers get the convolutions' output at the own head in
place of the average.

Validation uses a tenth of the episodes, never seen in training. Accuracy is the share of their
moves that are the network's first choice. The bundle gets float16 weights with batch normalisation
folded into the convolutions, so that it plays with numpy alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

BUNDLE: Final = Path(__file__).resolve().parent.parent / "agents" / "hungry_geese" / "convolutional"
FILTERS: Final = 24
BLOCKS: Final = 6
SLOPE: Final = 0.1
"""The slope of the leaky ReLU; agents/hungry_geese/convolutional/main.py has the same."""
BATCH: Final = 128
LEAST_RATE: Final = 1e-4
# NORTH, EAST, SOUTH, WEST after mirroring the columns or the rows.
FLIP_COLUMNS: Final = (0, 3, 2, 1)
FLIP_ROWS: Final = (2, 1, 0, 3)


def network(planes: int, at_head: bool) -> Any:
    """The network for samples of (planes, columns, rows), untrained."""
    layers: list[Any] = []
    width = planes
    for _ in range(BLOCKS):
        layers += [
            nn.Conv2d(width, FILTERS, 3, padding=1, padding_mode="circular", bias=False),
            nn.BatchNorm2d(FILTERS),
            nn.LeakyReLU(SLOPE),
        ]
        width = FILTERS
    if not at_head:
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    layers += [nn.Linear(FILTERS, 1024), nn.LeakyReLU(SLOPE)]
    layers += [nn.Linear(1024, 512), nn.LeakyReLU(SLOPE), nn.Dropout(0.5), nn.Linear(512, 4)]
    return nn.Sequential(*layers)


def scores(model: Any, planes: Any, at_head: bool) -> Any:
    """The four outputs for each sample; its first plane is the own head."""
    if not at_head:
        return model(planes)
    convolutions = 3 * BLOCKS
    return model[convolutions:]((model[:convolutions](planes) * planes[:, :1]).sum((2, 3)))


def mirrored(planes: Any, moves: Any, generator: Any) -> tuple[Any, Any]:
    """The batch, randomly mirrored: the moves turn with the planes."""
    for axis, turned in ((2, FLIP_COLUMNS), (3, FLIP_ROWS)):
        if torch.rand((), generator=generator) < 0.5:
            planes = planes.flip(axis)
            moves = torch.tensor(turned, device=moves.device)[moves]
    return planes, moves


def loss_and_accuracy(
    model: Any, planes: Any, moves: Any, device: str, at_head: bool
) -> tuple[float, float]:
    """Mean loss, and the share of moves that are the first choice."""
    model.eval()
    loss = right = 0.0
    with torch.no_grad():
        for first in range(0, len(moves), 4096):
            batch = planes[first : first + 4096].to(device).float()
            answers = moves[first : first + 4096].to(device)
            found = scores(model, batch, at_head)
            loss += float(nn.functional.cross_entropy(found, answers, reduction="sum"))
            right += float((found.argmax(1) == answers).sum())
    return loss / len(moves), right / len(moves)


def folded_weights(model: Any) -> dict[str, NDArray[np.float16]]:
    """The weights in the bundle's format: (taps * inputs, outputs) and a bias for each layer."""
    model.eval()
    arrays: dict[str, NDArray[np.float16]] = {}
    layers = list(model.to("cpu"))
    convolutions = [(layers[3 * block], layers[3 * block + 1]) for block in range(BLOCKS)]
    for number, (convolution, norm) in enumerate(convolutions):
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        kernel = (convolution.weight * scale[:, None, None, None]).permute(2, 3, 1, 0)
        arrays[f"conv{number}"] = kernel.reshape(-1, FILTERS).detach().half().numpy()
        arrays[f"conv{number}_bias"] = (
            (norm.bias - norm.running_mean * scale).detach().half().numpy()
        )
    for number, dense in enumerate(layer for layer in layers if isinstance(layer, nn.Linear)):
        arrays[f"dense{number}"] = dense.weight.T.detach().half().numpy()
        arrays[f"dense{number}_bias"] = dense.bias.detach().half().numpy()
    return arrays


def main() -> int:
    """Train, print each epoch, and keep the weights with the best validation loss."""
    parser = argparse.ArgumentParser(prog="python -m training.hungry_geese")
    parser.add_argument("dataset", type=Path, help=".npz that `peck dataset` wrote")
    parser.add_argument("--out", type=Path, default=BUNDLE, help="folder of the bundle")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-head", action="store_true", help="no average over the pond")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    with np.load(options.dataset, allow_pickle=False) as data:
        # exported as (samples, columns, rows, planes); torch wants the planes first
        planes = torch.from_numpy(np.ascontiguousarray(data["planes"].transpose(0, 3, 1, 2)))
        moves = torch.from_numpy(data["moves"].astype(np.int64))
        episode = torch.from_numpy(data["episode"])
    episodes = int(episode.max()) + 1
    apart = torch.randperm(episodes, generator=generator)[: max(1, episodes // 10)]
    held = torch.isin(episode, apart)
    if bool(held.all()):
        parser.error(f"{options.dataset}: one episode is not enough to keep some apart")
    train = torch.nonzero(~held).flatten()
    print(
        f"{len(train):,} moves of {episodes - len(apart)} episodes to learn from, "
        f"{int(held.sum()):,} of {len(apart)} kept apart; {options.device}"
    )
    model = network(planes.shape[1], options.at_head).to(options.device)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=0.3, patience=1, min_lr=LEAST_RATE
    )
    best: tuple[float, float, int] = (float("inf"), 0.0, 0)
    kept = {}
    for epoch in range(1, options.epochs + 1):
        started = time.monotonic()
        model.train()
        total = 0.0
        for batch in train[torch.randperm(len(train), generator=generator)].split(BATCH):
            seen, answers = mirrored(planes[batch].float(), moves[batch], generator)
            loss = nn.functional.cross_entropy(
                scores(model, seen.to(options.device), options.at_head),
                answers.to(options.device),
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += float(loss) * len(batch)
        held_loss, share = loss_and_accuracy(
            model, planes[held], moves[held], options.device, options.at_head
        )
        rate = optimiser.param_groups[0]["lr"]
        plateau.step(held_loss)
        if held_loss < best[0]:
            best = (held_loss, share, epoch)
            kept = {name: value.clone() for name, value in model.state_dict().items()}
        print(
            f"epoch {epoch:3}: loss {total / len(train):.4f}, kept apart {held_loss:.4f}, "
            f"accuracy {share:.4f}, rate {rate:g}, {time.monotonic() - started:.1f} s",
            flush=True,
        )
    model.load_state_dict(kept)
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "weights.npz").open("wb") as file:
        arrays = folded_weights(model)
        if options.at_head:
            arrays["at_head"] = np.ones(1, dtype=np.float16)
        np.savez_compressed(file, allow_pickle=False, **arrays)
    report = {
        "accuracy": round(best[1], 4),
        "of_moves": int(held.sum()),
        "of_episodes": len(apart),
        "learned_from_moves": len(train),
        "epoch": best[2],
        "seed": options.seed,
    }
    (options.out / "weights.json").write_text(json.dumps(report, indent=1) + "\n")
    print(f"accuracy {best[1]:.4f} on {int(held.sum()):,} moves (epoch {best[2]}) -> {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
