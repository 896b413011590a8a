"""The verb that turns a season's replays into arrays to learn from."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray

from games import encoders
from games.encoders import Encoder, Sample
from games.episode import from_document
from games.protocol import GameError
from sandbox.match.mirrored_pairs import seat_order
from services.cli.display import AsJson, print_json, stdout
from services.cli.name_lookup import season_key
from services.cli.saved_login import MissingInput, connect
from services.client import ApiError, Client, Json

FORMAT: Final = "peck-dataset/1"


class SampleCollector:
    """Samples of many matches, with where each came from."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.episodes: list[int] = []
        """By sample: index into ``sources``."""
        self.placements: list[int] = []
        self.rewards: list[float | None] = []
        self.sources: list[Json] = []
        self.not_shown = 0

    def add(self, match: Json, encoder: Encoder, replays: Sequence[Json], seats: set[int]) -> None:
        """All samples of these members of a match's lineup, wherever they sat."""
        for position, replay in enumerate(replays):
            episode = from_document(replay)
            seated = seat_order(episode.seats, position)
            sat = {seat for seat, member in enumerate(seated) if member in seats}
            found = list(encoder.samples(episode, sat))
            self.samples += found
            self.episodes += [len(self.sources)] * len(found)
            self.placements += [episode.placements[sample.seat] for sample in found]
            self.rewards += [episode.rewards[sample.seat] for sample in found]
            self.sources.append(
                {
                    "match": match["id"],
                    "season": match["season_id"],
                    "position": position,
                    "seats": sorted(sat),
                    "samples": len(found),
                }
            )


def dataset(
    seasons: Annotated[
        list[str] | None, typer.Argument(help="League slugs or season ids; the only one if none.")
    ] = None,
    to: Annotated[Path, typer.Option("--out", "-o", help="The .npz to write.")] = Path(
        "dataset.npz"
    ),
    top: Annotated[int, typer.Option(min=1, help="Moves of the entries of the best ranks.")] = 3,
    placed: Annotated[
        int | None, typer.Option(min=1, help="Only where they placed so well in the match.")
    ] = None,
    matches: Annotated[int, typer.Option(min=1, help="Of each season, the newest first.")] = 300,
    as_json: AsJson = False,
) -> None:
    """Export what the best of seasons saw and did as arrays to learn from (.npz), with a manifest.

    planes are what a seat saw, legal what it could do, moves what it did (an index into the
    manifest's moves; where that does not say all, rest has the rest); placement and reward are what
    the seat's episode ended with. episode says which of the manifest's episodes a sample is of, so
    that none is cut in two when some are kept apart to be tested on.
    """
    target = to if to.suffix == ".npz" else to.with_name(to.name + ".npz")
    if not target.parent.is_dir():
        raise MissingInput(f"--out: there is no folder {target.parent}")
    gathered = SampleCollector()
    with connect(needs_token=False) as ladder:
        wanted: Sequence[str | None] = seasons or (None,)
        keys = list(
            dict.fromkeys(season_key(ladder, given, "(peck dataset LEAGUE)") for given in wanted)
        )
        told = [ladder.season(key) for key in keys]
        encoder = _encoder(told)
        for season in told:
            best = _best_rows(ladder, season, top)
            season["best"] = best
            for match, seats in _matches_of_best(ladder, season["id"], best, placed, matches):
                _add_match(ladder, gathered, encoder, match, seats)
                if sys.stderr.isatty():
                    print(f"\r{len(gathered.sources)} episodes", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if not gathered.samples:
        raise MissingInput(
            "there is no rated match of these ranks whose replay you may see"
            + (f" ({gathered.not_shown} are not open to you)" if gathered.not_shown else "")
        )
    manifest = _write_arrays(target, gathered, encoder, told, {"top": top, "placed": placed})
    if as_json:
        print_json(manifest)
        return
    stdout.print(
        f"{target}: {manifest['samples']:,} moves of {len(gathered.sources):,} episodes, planes of "
        f"{' x '.join(map(str, manifest['shape']))}; {target.with_suffix('.json')} tells the rest"
    )
    if gathered.not_shown:
        stdout.print(
            f"{gathered.not_shown} matches were left out: their replays are not open to you"
        )


def _encoder(seasons: Sequence[Json]) -> Encoder:
    kinds = {
        (season["game"], season["seats"], json.dumps(season["configuration"])) for season in seasons
    }
    if len(kinds) > 1:
        raise MissingInput(
            "the seasons differ in game, seats or configuration; export each on its own"
        )
    try:
        return encoders.encoder_of(seasons[0]["game"])
    except GameError as error:
        raise MissingInput(str(error)) from None


def _best_rows(ladder: Client, season: Json, top: int) -> list[Json]:
    """The board's rows up to this rank; ties at the end are in."""
    kept: list[Json] = []
    for row in ladder.leaderboard(season["id"]):
        if row["rank"] is not None and row["rank"] > top:
            break
        if row["rank"] is not None:
            kept.append(
                {
                    "entry": row["entry_id"],
                    "rank": row["rank"],
                    "agent": row["agent_name"],
                    "team": row["team_name"],
                    "score": (row["official"] or row)["score"],
                    "games": row["games"],
                }
            )
    return kept


def _matches_of_best(
    ladder: Client, season: str, best: Sequence[Json], placed: int | None, most: int
) -> Iterator[tuple[Json, set[int]]]:
    """The newest rated matches in which one of the best sat, and the seats to learn from."""
    wanted = {row["entry"] for row in best}
    left = most
    for match in ladder.matches(season=season, kind="rated"):
        seats = {
            seat["seat"]
            for seat in match["seats"]
            if seat["entry_id"] in wanted and (placed is None or _is_placed_within(seat, placed))
        }
        if match["state"] == "finished" and seats:
            yield match, seats
            left -= 1
            if not left:
                return


def _is_placed_within(seat: Json, placed: int) -> bool:
    return seat["placement"] is not None and seat["placement"] <= placed


def _add_match(
    ladder: Client, gathered: SampleCollector, encoder: Encoder, match: Json, seats: set[int]
) -> None:
    try:
        replays = [
            ladder.replay(match["id"], episode=number) for number in range(len(match["episodes"]))
        ]
    except ApiError as error:
        if error.slug not in {"forbidden", "not-found"}:
            raise
        gathered.not_shown += 1  # not open to the caller, or kept no longer
        return
    gathered.add(match, encoder, replays, seats)


def _write_arrays(
    target: Path, gathered: SampleCollector, encoder: Encoder, seasons: Sequence[Json], chosen: Json
) -> dict[str, Any]:
    """The arrays, and beside them a manifest that says what they are and where they are from."""
    configuration = seasons[0]["configuration"]
    names = encoder.moves(configuration)
    smallest = np.min_scalar_type(-len(names))  # int8 where that holds all
    moves = np.array([sample.move for sample in gathered.samples], dtype=smallest)
    arrays: dict[str, NDArray[Any]] = {
        "planes": np.stack([sample.planes for sample in gathered.samples]),
        "legal": np.stack([sample.legal for sample in gathered.samples]),
        "moves": moves,
        "episode": np.array(gathered.episodes, dtype=np.int32),
        "seat": np.array([sample.seat for sample in gathered.samples], dtype=np.int8),
        "step": np.array([sample.step for sample in gathered.samples], dtype=np.int32),
        "placement": np.array(gathered.placements, dtype=np.int8),
        "reward": np.array(gathered.rewards, dtype=np.float32),  # None, of a failure, is NaN
    }
    if encoder.rest:
        arrays["rest"] = np.array([sample.rest for sample in gathered.samples], dtype=smallest)
    with target.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    counts = Counter(moves.tolist())
    manifest = {
        "format": FORMAT,
        "game": seasons[0]["game"],
        "configuration": configuration,
        "moves": list(names),
        "counts": {move: counts[number] for number, move in enumerate(names)},
        "samples": len(moves),
        "shape": list(arrays["planes"].shape[1:]),
        "axes": encoder.axes,
        "rest": list(encoder.rest),
        "arrays": {name: [str(value.dtype), *value.shape] for name, value in arrays.items()},
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "chosen": chosen,
        "seasons": [{"id": season["id"], "best": season["best"]} for season in seasons],
        "episodes": gathered.sources,
    }
    target.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def register(app: typer.Typer) -> None:
    app.command()(dataset)
