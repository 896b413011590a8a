"""kaggle-environments 1.33.2 as the peer that our Hungry Geese must equal, step by step.

The peer spends over half of its time on jsonschema checks of its own constant schemas, for every
action. ``fast_peer`` checks each schema once and then runs the same validation of the same data. It
accepts, refuses and returns exactly the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from games.hungry_geese import GAME, State
from games.protocol import InvalidMove, Verdict

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import kaggle_environments as kaggle
    from kaggle_environments import utils
    from kaggle_environments.envs.hungry_geese import hungry_geese as peer_game
    from kaggle_environments.errors import DeadlineExceeded

jsonschema: ModuleType = utils.jsonschema

Answer = Any
"""An agent's result: JSON, an exception it raised, or DeadlineExceeded."""


def _validate_with_schemas_checked_once() -> Any:
    checked: set[str] = set()
    validator_for, best_match = (
        jsonschema.validators.validator_for,
        jsonschema.exceptions.best_match,
    )

    def validate(instance: Any, schema: Any) -> None:
        validator = validator_for(schema)
        text = json.dumps(schema, sort_keys=True)
        if text not in checked:
            validator.check_schema(schema)
            checked.add(text)
        error = best_match(validator(schema).iter_errors(instance))
        if error is not None:
            raise error

    return validate


@contextlib.contextmanager
def fast_peer() -> Iterator[None]:
    """Runs the peer without its repeated checks of constant schemas; restored afterwards."""
    utils.jsonschema = SimpleNamespace(validate=_validate_with_schemas_checked_once())
    try:
        yield
    finally:
        utils.jsonschema = jsonschema


def make(configuration: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """A Hungry Geese environment of the peer."""
    return kaggle.make("hungry_geese", configuration=dict(configuration or {}), **more)


def make_with_bank(configuration: Mapping[str, Any], bank_seconds: float) -> Any:
    """As ``make`` with another overage bank; the peer reads it only from the specification."""
    specification = json.loads(Path(peer_game.jsonpath).read_text(encoding="utf-8"))
    specification["observation"]["remainingOverageTime"] = bank_seconds
    return kaggle.make(
        {
            "interpreter": peer_game.interpreter,
            "renderer": peer_game.renderer,
            "html_renderer": peer_game.html_renderer,
            "agents": {},
            "specification": specification,
        },
        configuration=dict(configuration),
    )


def reset(environment: Any, seats: int, seed: int) -> None:
    """Start a new game from the peer's generator, which is Python's global one."""
    random.seed(seed)
    with contextlib.redirect_stdout(io.StringIO()):
        environment.reset(seats)


def feed(state: State, answers: Mapping[int, Answer]) -> dict[int, Any]:
    """The moves that our referee would pass to the rules for these answers."""
    return {seat: _move(state, seat, answers[seat]) for seat in GAME.to_move(state)}


def _move(state: State, seat: int, answer: Answer) -> Any:
    if isinstance(answer, DeadlineExceeded):
        return Verdict.TIMEOUT
    if isinstance(answer, BaseException):
        return Verdict.ERROR
    try:
        return GAME.parse(state, seat, answer)
    except InvalidMove:
        return Verdict.INVALID


def view(states: Sequence[Any]) -> dict[str, Any]:
    """The peer's state in the format of ``GAME.frame``."""
    shared = states[0]["observation"]
    return {
        "step": shared["step"],
        "geese": shared["geese"],
        "food": shared["food"],
        "rewards": [seat["reward"] for seat in states],
        "statuses": [seat["status"] for seat in states],
    }


def our_view(state: State) -> dict[str, Any]:
    frame = GAME.frame(state)
    del frame["endings"]
    return frame


__all__ = ["Answer", "DeadlineExceeded", "peer_game"]
