"""Makes a game of any PettingZoo environment, turn by turn (AEC) or all at once (parallel).

This module does not import PettingZoo. The operator's file does (docs/how-to/bring-a-game.md).

The only chance is the seed that ``reset`` gives the environment. It is the episode's chance event.
An environment must draw everything from it and leave modules' global generators alone.

Environments change when they are stepped, but states may not. So a state is a seed and the actions
since. The environment passes from state to state. A call on an older state makes another
environment, resets it with the seed and steps it again. (Copies would fail: many environments are
copied by making them anew from their arguments.)
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Any, Final

from games import protocol
from games.protocol import (
    ConfigurationField,
    GameError,
    InvalidMove,
    Json,
    Outcome,
    Verdict,
    placements_from_scores,
)

Environment = Any  # PettingZoo's AECEnv or ParallelEnv
SEED_BITS: Final = 31
CLOCK: Final[Mapping[str, Json]] = MappingProxyType({"act_seconds": 1.0, "bank_seconds": 60.0})


@dataclass(slots=True)
class EnvironmentPosition:
    """The environment of a state."""

    environment: Environment
    """None once a step has passed it on."""
    seen: Mapping[str, Any]
    """Observation and mask by agent of a parallel environment. One that takes turns is asked."""


@dataclass(frozen=True, slots=True)
class State:
    """A position. Tuples are indexed by seat, in order of the environment's possible agents."""

    configuration: Mapping[str, Json]
    seed: int
    actions: tuple[Mapping[int, Json], ...]
    over: bool
    totals: tuple[float, ...]
    verdicts: tuple[Verdict, ...]
    place: EnvironmentPosition = field(compare=False, repr=False)


class PettingZooGame:
    """An environment as a ``games.protocol.Game``.

    Seats are ranked by the sum of their rewards. A fault ends the episode and puts that seat last,
    because no environment can go on without an agent. Step number ``longest`` ends it too.
    """

    lenient: frozenset[Verdict] = frozenset()
    mirrored = False
    measures: tuple[Any, ...] = ()

    def __init__(
        self,
        make: Callable[..., Environment],
        *,
        name: str,
        title: str,
        version: str,
        longest: Callable[[Mapping[str, Json]], int],
        configuration: Iterable[ConfigurationField] = (),
        clock: Mapping[str, Json] = CLOCK,
    ) -> None:
        """``make`` gets the fields of ``configuration`` by name. Their defaults give the number
        of seats.
        """
        self.name, self.title, self.clock = name, title, clock
        self.version = f"{version}+pettingzoo-{importlib.metadata.version('pettingzoo')}"
        self._make, self._longest, self._fields = make, longest, tuple(configuration)
        agents = len(make(**self.configure({})).possible_agents)
        self.seats = range(agents, agents + 1)

    def configure(self, overrides: Mapping[str, Json]) -> dict[str, Json]:
        return protocol.configure(self._fields, overrides)

    def longest(self, configuration: Mapping[str, Json]) -> int:
        return self._longest(configuration)

    def reset(
        self, configuration: Mapping[str, Json], seats: int, chance: Random | Json
    ) -> tuple[State, Json]:
        """The environment reset with a seed. Chance is ``{"seed": number}``."""
        seed = chance.getrandbits(SEED_BITS) if isinstance(chance, Random) else chance["seed"]
        place = self._reset_environment(configuration, seed)
        environment = place.environment
        if len(environment.possible_agents) != seats:
            raise GameError(
                f"seats: {self.title} is for {len(environment.possible_agents)}, not {seats}"
            )
        over = not environment.agents
        nothing, done = (0.0,) * seats, (Verdict.DONE,) * seats
        return State(dict(configuration), seed, (), over, nothing, done, place), {"seed": seed}

    def to_move(self, state: State) -> tuple[int, ...]:
        if state.over:
            return ()
        environment = self._environment_position(state).environment
        moving = environment.agents
        if _takes_turns(environment):
            moving = [environment.agent_selection]
        return tuple(map(environment.possible_agents.index, moving))

    def observe(self, state: State, seat: int) -> dict[str, Json]:
        """The environment's observation, arrays as lists, and ``action_mask`` if it has one."""
        observation, mask = self._observation_and_mask(state, seat)
        told = {"seat": seat, "step": len(state.actions), "observation": _to_json(observation)}
        return told if mask is None else {**told, "action_mask": _to_json(mask)}

    def parse(self, state: State, seat: int, raw: Json) -> Json:
        """An element of the seat's action space that the mask allows. Raises InvalidMove."""
        space = self._space(state, seat)
        action = _parse_action(space, raw)
        if action is None:
            raise InvalidMove(f"expected one of {space}, got {raw!r:.100}")
        _, mask = self._observation_and_mask(state, seat)
        if mask is not None and _is_discrete(space) and not mask[int(action) - int(space.start)]:
            raise InvalidMove(f"{action} is not allowed now; see action_mask")
        return _to_json(space.to_jsonable([action])[0])

    def sample(self, state: State, seat: int, random: Random) -> Json:
        space = deepcopy(self._space(state, seat))
        space.seed(random.getrandbits(SEED_BITS))
        _, mask = self._observation_and_mask(state, seat)
        masked = mask is not None and _is_discrete(space)
        action = space.sample(mask) if masked else space.sample()
        return _to_json(space.to_jsonable([action])[0])

    def step(
        self, state: State, moves: Mapping[int, Json | Verdict], chance: Random | Json
    ) -> tuple[State, Json]:
        """The next position. It draws nothing: the environment has the chance."""
        failed = {seat: move for seat, move in moves.items() if isinstance(move, Verdict)}
        if failed:
            verdicts = tuple(
                failed.get(seat, verdict) for seat, verdict in enumerate(state.verdicts)
            )
            actions = (*state.actions, {})
            return replace(state, actions=actions, over=True, verdicts=verdicts), {}
        environment = self._environment_position(state).environment
        state.place.environment = None  # also if it raises now: nobody steps it from here again
        rewards, place = _apply_moves(environment, moves)
        environment = place.environment
        totals = tuple(
            total + rewards.get(agent, 0.0)
            for total, agent in zip(state.totals, environment.possible_agents, strict=True)
        )
        actions = (*state.actions, dict(moves))
        over = not environment.agents or len(actions) >= self.longest(state.configuration)
        return replace(state, actions=actions, over=over, totals=totals, place=place), {}

    def outcome(self, state: State) -> Outcome | None:
        if not state.over:
            return None
        failed = [verdict.is_fault for verdict in state.verdicts]
        paid = list(zip(state.totals, failed, strict=True))
        return Outcome(
            placements=placements_from_scores([-math.inf if out else total for total, out in paid]),
            rewards=tuple(None if out else total for total, out in paid),
            verdicts=state.verdicts,
        )

    def frame(self, state: State) -> dict[str, Json]:
        """What all seats see together, because an environment does not show its own state."""
        environment = self._environment_position(state).environment
        observations = [
            _to_json(self._observation_and_mask(state, seat)[0])
            if agent in environment.agents
            else None
            for seat, agent in enumerate(environment.possible_agents)
        ]
        return {
            "step": len(state.actions),
            "to_move": list(self.to_move(state)),
            "rewards": list(state.totals),
            "observations": observations,
        }

    def _reset_environment(
        self, configuration: Mapping[str, Json], seed: int
    ) -> EnvironmentPosition:
        environment = self._make(**configuration)
        told = environment.reset(seed=seed)
        return EnvironmentPosition(
            environment, {} if _takes_turns(environment) else _observations_with_masks(*told)
        )

    def _environment_position(self, state: State) -> EnvironmentPosition:
        """The state's own environment. If a step took it, a new one is made."""
        if state.place.environment is None:
            place = self._reset_environment(state.configuration, state.seed)
            for moves in filter(None, state.actions):
                _, place = _apply_moves(place.environment, moves)
            state.place.environment, state.place.seen = place.environment, place.seen
        return state.place

    def _observation_and_mask(self, state: State, seat: int) -> tuple[Any, Any]:
        """The observation of a seat in play, and its mask or None."""
        place = self._environment_position(state)
        agent = place.environment.possible_agents[seat]
        if not _takes_turns(place.environment):
            observation, mask = place.seen.get(agent, (None, None))
            return observation, mask
        seen = place.environment.observe(agent)
        return seen, _action_mask(seen, place.environment.infos.get(agent, {}))

    def _space(self, state: State, seat: int) -> Any:
        environment = self._environment_position(state).environment
        return environment.action_space(environment.possible_agents[seat])


def _apply_moves(
    environment: Environment, moves: Mapping[int, Json]
) -> tuple[dict[str, float], EnvironmentPosition]:
    """What a step paid, by agent, and the new position."""
    agents = environment.possible_agents
    actions = {
        agents[seat]: _parse_action(environment.action_space(agents[seat]), move)
        for seat, move in moves.items()
    }
    if _takes_turns(environment):
        (action,) = actions.values()
        environment.step(action)
        rewards, seen = dict(environment.rewards), {}
        _step_finished_agents(environment)
    else:
        observations, rewards, _, _, infos = environment.step(actions)
        seen = _observations_with_masks(observations, infos)
    paid = {agent: float(reward) for agent, reward in rewards.items()}
    return paid, EnvironmentPosition(environment, seen)


def _takes_turns(environment: Environment) -> bool:
    return hasattr(environment, "agent_iter")


def _step_finished_agents(environment: Environment) -> None:
    """Step the finished agents out of a turn-based environment, as its interface requires."""
    while environment.agents:
        agent = environment.agent_selection
        if not (environment.terminations[agent] or environment.truncations[agent]):
            return
        environment.step(None)


def _observations_with_masks(seen: Mapping[str, Any], infos: Mapping[str, Any]) -> dict[str, Any]:
    return {agent: (seen[agent], _action_mask(seen[agent], infos.get(agent, {}))) for agent in seen}


def _action_mask(seen: Any, info: Mapping[str, Any]) -> Any:
    inside = seen.get("action_mask") if isinstance(seen, Mapping) else None
    return info.get("action_mask") if inside is None else inside


def _is_discrete(space: Any) -> bool:
    return type(space).__name__ == "Discrete"


def _parse_action(space: Any, raw: Json) -> Any:
    """The element of the space for a JSON value, or None."""
    if _is_discrete(space):
        return raw if type(raw) is int and space.contains(raw) else None
    try:
        (action,) = space.from_jsonable([raw])
        return action if space.contains(action) else None
    except Exception:  # an answer of any shape meets conversions of any kind of space
        return None


def _to_json(value: Any) -> Json:
    """Turn arrays and their numbers into JSON. What is not finite is null."""
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
