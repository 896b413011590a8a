"""The command that exports replays of a season as arrays for machine learning."""

from __future__ import annotations

import hashlib
import json
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
from sandbox.match.match_record import seat_order
from services.api_client import ApiError, Client, Json
from services.cli.display import AsJson, ProgressLine, print_json, stdout
from services.cli.name_lookup import find_season_id
from services.cli.saved_login import MissingInput, connect

FORMAT: Final = "peck-dataset/1"


class SampleCollector:
    """Samples of many matches, with the source of each."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.episodes: list[int] = []
        """Index into ``sources``, by sample."""
        self.placements: list[int] = []
        self.rewards: list[float | None] = []
        self.sources: list[Json] = []
        self.not_shown = 0

    def add(self, match: Json, encoder: Encoder, replays: Sequence[Json], seats: set[int]) -> None:
        """Adds all samples of these members of a match's lineup."""
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
        list[str] | None,
        typer.Argument(help="League slugs or season ids; default: your only league."),
    ] = None,
    to: Annotated[Path, typer.Option("--out", "-o", help="The .npz file to write.")] = Path(
        "dataset.npz"
    ),
    top: Annotated[int, typer.Option(min=1, help="Use moves of entries up to this rank.")] = 3,
    placed: Annotated[
        int | None,
        typer.Option(min=1, help="Use only matches with this placement or a better one."),
    ] = None,
    matches: Annotated[
        int, typer.Option(min=1, help="Most matches of each season, newest first.")
    ] = 300,
    as_json: AsJson = False,
) -> None:
    """Export moves of the best entries as arrays for machine learning (.npz) with a manifest.

    planes hold what a seat saw, legal the allowed moves, moves the chosen move. A move is an index
    into the manifest's moves; rest holds the parts that the index cannot express. The placement and
    the reward are the seat's result. The episode is an index into the manifest's episodes: split
    training and test data by it.
    """
    target = to if to.suffix == ".npz" else to.with_name(to.name + ".npz")
    if not target.parent.is_dir():
        raise MissingInput(f"--out: create the folder {target.parent} first")
    gathered = SampleCollector()
    with connect(needs_token=False) as ladder, ProgressLine() as line:
        wanted: Sequence[str | None] = seasons or (None,)
        keys = list(
            dict.fromkeys(
                find_season_id(ladder, given, "(peck dataset LEAGUE)") for given in wanted
            )
        )
        told = [ladder.get(f"/v1/seasons/{key}") for key in keys]
        encoder = _encoder(told)
        for season in told:
            best = _best_rows(ladder, season, top)
            season["best"] = best
            for match, seats in _matches_of_best(ladder, season["id"], best, placed, matches):
                _add_match(ladder, gathered, encoder, match, seats)
                line.show(f"{len(gathered.sources)} episodes")
    if not gathered.samples:
        raise MissingInput(
            "found no rated match of these ranks with a replay that you may see"
            + (f" ({gathered.not_shown} replays are hidden from you)" if gathered.not_shown else "")
        )
    manifest = _write_arrays(target, gathered, encoder, told, {"top": top, "placed": placed})
    if as_json:
        print_json(manifest)
        return
    stdout.print(
        f"wrote {target}: {manifest['samples']:,} moves of {len(gathered.sources):,} "
        f"episodes, planes of {' x '.join(map(str, manifest['shape']))}; "
        f"{target.with_suffix('.json')} describes them"
    )
    if gathered.not_shown:
        stdout.print(f"left out {gathered.not_shown} matches: you may not see their replays")


def _encoder(seasons: Sequence[Json]) -> Encoder:
    kinds = {
        (season["game"], season["seats"], json.dumps(season["configuration"])) for season in seasons
    }
    if len(kinds) > 1:
        raise MissingInput(
            "export each season on its own: they differ in game, seats or configuration"
        )
    try:
        return encoders.encoder_of(seasons[0]["game"])
    except GameError as error:
        raise MissingInput(str(error)) from None


def _best_rows(ladder: Client, season: Json, top: int) -> list[Json]:
    """The leaderboard's rows up to this rank, including ties."""
    kept: list[Json] = []
    for row in ladder.list_items(f"/v1/seasons/{season['id']}/leaderboard", limit=1000):
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
    """The newest rated matches of the best entries, and the seats to export."""
    wanted = {row["entry"] for row in best}
    left = most
    for match in ladder.list_items("/v1/matches", season=season, kind="rated", limit=200):
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
            ladder.get(f"/v1/matches/{match['id']}/replay", episode=number)
            for number in range(len(match["episodes"]))
        ]
    except ApiError as error:
        if error.slug not in {"forbidden", "not-found"}:
            raise
        gathered.not_shown += 1  # hidden from the caller, or deleted
        return
    gathered.add(match, encoder, replays, seats)


def _write_arrays(
    target: Path, gathered: SampleCollector, encoder: Encoder, seasons: Sequence[Json], chosen: Json
) -> dict[str, Any]:
    """Writes the arrays, and beside them a manifest with their meaning and source."""
    configuration = seasons[0]["configuration"]
    names = encoder.moves(configuration)
    smallest = np.min_scalar_type(-len(names))  # int8 if all indices fit
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
