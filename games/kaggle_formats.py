"""Writes episodes and logs in Kaggle's formats, which kaggle-environments loads and renders.

Source of the episode format: ``Environment.toJSON`` of kaggle-environments 1.33.2 and replays of
Kaggle's ladder. Source of the log format: its agent server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from games import GAMES
from games.episode import Episode, states
from games.hungry_geese import DEFAULT_MOVE, FIELDS, MOVES, State
from games.protocol import Game, GameError, Json, with_clock

GAME_NAMES = frozenset({"hungry_geese"})
"""The games that have a format of Kaggle's."""
DESCRIPTION = "Geese eat, grow and avoid each other on a torus; the goose that lives longest wins"
INTEGER = {"type": "integer", "minimum": 0}
CELLS = {"type": "array", "items": INTEGER}
SHARED = ("geese", "food", "step")
"""Fields that Kaggle writes only for the first seat."""


def episode_json(
    episode: Episode,
    *,
    episode_id: str | int,
    team_names: Sequence[str],
    submission_numbers: Sequence[int] | None = None,
) -> dict[str, Json]:
    """Kaggle's episode JSON of a Hungry Geese episode.

    ``info`` has Kaggle's EpisodeId, TeamNames and Agents. Its ``Peck`` has the charges and banks by
    step and seat, in seconds, null for a seat that was not asked. Raises GameError.
    """
    game: Game[State] | None = GAMES.get(episode.game)
    if game is None or episode.game not in GAME_NAMES:
        raise GameError(f"game: there is no Kaggle format for {episode.game!r:.100}")
    if len(team_names) != episode.seats:
        raise GameError(f"team_names: expected {episode.seats}, got {len(team_names)}")
    agents: list[dict[str, Json]] = [{"Name": name} for name in team_names]
    for agent, number in zip(agents, submission_numbers or (), strict=False):
        agent["SubmissionId"] = number
    steps = _steps_json(game, episode)
    return {
        "id": str(episode_id),
        "name": game.name,
        "title": game.title,
        "description": DESCRIPTION,
        "version": game.version,
        "configuration": with_clock(game, episode.configuration, episode.clock),
        "specification": _specification_json(game, episode),
        "steps": steps,
        "rewards": [seat["reward"] for seat in steps[-1]],
        "statuses": [seat["status"] for seat in steps[-1]],
        "schema_version": 1,
        "info": {
            "EpisodeId": episode_id,
            "TeamNames": list(team_names),
            "Agents": agents,
            "LiveVideoPath": None,
            "Peck": {
                "charged_seconds": [list(step.charged_seconds) for step in episode.steps],
                "bank_seconds": [list(step.bank_seconds) for step in episode.steps],
            },
        },
    }


def log_json(moves: Iterable[Mapping[str, Json]]) -> list[list[dict[str, Json]]]:
    """One seat's log in Kaggle's format: for each call a list with one entry.

    ``moves`` come from a ``peck-log/1`` document. Output before the first call (step 0) is in the
    first call's entry, because Kaggle loads the agent in that call.
    """
    entries: list[list[dict[str, Json]]] = []
    before = {"stdout": "", "stderr": ""}
    for move in moves:
        texts = {name: before[name] + (move.get(name) or "") for name in before}
        if move.get("step") == 0:
            before = texts
            continue
        before = {"stdout": "", "stderr": ""}
        entries.append([{"duration": round(move.get("charged_seconds") or 0.0, 6), **texts}])
    if any(before.values()):
        entries.append([{"duration": 0.0, **before}])
    return entries


def _steps_json(game: Game[State], episode: Episode) -> list[list[dict[str, Json]]]:
    banks = [float(episode.clock.get("bank_seconds", 60.0))] * episode.seats
    steps = []
    for number, state in enumerate(states(game, episode)):
        actions: list[str | None] = [DEFAULT_MOVE] * episode.seats
        if number:
            record = episode.steps[number - 1]
            for seat, move in enumerate(record.moves):
                if move is not None:
                    # Kaggle records no action for the step in which a seat failed.
                    actions[seat] = move if isinstance(move, str) else None
                bank = record.bank_seconds[seat]
                banks[seat] = banks[seat] if bank is None else bank
        steps.append(
            [
                {
                    "action": actions[seat],
                    "info": {},
                    "observation": _observation_json(game, state, seat, banks[seat]),
                    "reward": state.rewards[seat],
                    "status": str(state.verdicts[seat]),
                }
                for seat in range(episode.seats)
            ]
        )
    return steps


def _observation_json(game: Game[State], state: State, seat: int, bank: float) -> dict[str, Json]:
    seen = game.observe(state, seat)
    if seat > 0:
        for name in SHARED:
            del seen[name]
    # kaggle-environments refuses to load the negative bank that its own TIMEOUT leaves. The true
    # bank is in info.Peck.
    seen["remainingOverageTime"] = max(0, bank)
    return seen


def _specification_json(game: Game[State], episode: Episode) -> dict[str, Any]:
    seats = list(game.seats)
    return {
        "action": {"type": "string", "enum": list(MOVES), "default": DEFAULT_MOVE},
        "agents": seats,
        "configuration": {
            field.name: {
                "type": "integer" if field.type is int else "number",
                "default": field.default,
                "minimum": field.minimum,
            }
            for field in FIELDS
        },
        "info": {},
        "observation": {
            "geese": {"type": "array", "items": CELLS, "shared": True, "default": []},
            "food": {**CELLS, "shared": True, "default": []},
            "index": {**INTEGER, "defaults": [seat - 1 for seat in seats]},
            "step": {**INTEGER, "shared": True, "default": 0},
            "remainingOverageTime": {
                "type": "number",
                "minimum": 0,
                "shared": False,
                "default": episode.clock.get("bank_seconds", 60),
            },
        },
        "reward": {"type": ["integer", "null"], "minimum": 0, "default": 0},
    }


def frames_of_kaggle(document: Mapping[str, Json]) -> dict[str, Json]:
    """The frames document of a Kaggle episode of Hungry Geese; see ``games.frames``.

    Kaggle does not record why a goose died, so ``endings`` are null. Raises GameError.
    """
    if str(document.get("name")) not in GAME_NAMES:
        raise GameError(f"name: there is no player for {document.get('name')!r:.100}")
    try:
        return _frames_of_steps(document, document["steps"])
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise GameError(f"steps: no episode of Hungry Geese ({error!r:.100})") from None


def _frames_of_steps(
    document: Mapping[str, Any], steps: Sequence[Sequence[Any]]
) -> dict[str, Json]:
    seats = range(len(steps[0]))
    times = document.get("info", {}).get("Peck", {})
    frames = []
    moves = []
    for number, records in enumerate(steps):
        shown = records[0]["observation"]
        frames.append(
            {
                "step": number,
                "geese": shown["geese"],
                "food": shown["food"],
                "rewards": [records[seat]["reward"] for seat in seats],
                "statuses": [records[seat]["status"] for seat in seats],
                "endings": [None for _ in seats],
            }
        )
        if number == 0:
            continue
        before = frames[number - 1]
        asked = [bool(before["geese"][seat]) for seat in seats]
        failed = [
            asked[seat] and records[seat]["status"] in ("ERROR", "INVALID", "TIMEOUT")
            for seat in seats
        ]
        banks = [records[seat]["observation"].get("remainingOverageTime") for seat in seats]
        moves.append(
            {
                "moves": [
                    records[seat]["action"] if asked[seat] and not failed[seat] else None
                    for seat in seats
                ],
                "faults": [records[seat]["status"] if failed[seat] else None for seat in seats],
                "charged_seconds": _times_of_step(times, "charged_seconds", number, seats),
                "bank_seconds": banks,
            }
        )
    rewards = [document["rewards"][seat] or 0 for seat in seats]
    return {
        "format": "peck-frames/1",
        "game": "hungry_geese",
        "version": document.get("version", ""),
        "configuration": document["configuration"],
        "clock": {"bank_seconds": steps[0][0]["observation"].get("remainingOverageTime")},
        "seats": len(seats),
        "frames": frames,
        "steps": moves,
        "placements": [1 + sum(other > mine for other in rewards) for mine in rewards],
        "rewards": list(document["rewards"]),
        "verdicts": list(document["statuses"]),
    }


def _times_of_step(
    times: Mapping[str, Any], name: str, number: int, seats: Iterable[int]
) -> list[float | None]:
    table = times.get(name)
    return [None if table is None else table[number - 1][seat] for seat in seats]
