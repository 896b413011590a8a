"""The API of matches, scrims and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from services.api_client.connection import Connection, Json


class Matches(Connection):
    """Calls about matches, scrims and comparisons."""

    def matches(self, *, most: int | None = None, **which: Any) -> Iterator[Json]:
        """Matches of a ``season``, ``agent``, ``entry`` or ``scrim``, optionally of one ``kind``,
        newest first."""
        return self.list_items("/v1/matches", most=most, limit=min(most or 50, 200), **which)

    def match(self, key: str) -> Json:
        return self.get(f"/v1/matches/{key}")

    def head_to_head(self, agent: str, opponent: str) -> Json:
        return self.get("/v1/head-to-head", agent=agent, opponent=opponent)

    def search(self, text: str) -> list[Json]:
        found: list[Json] = self.get("/v1/search", q=text)["items"]
        return found

    def match_of_episode(self, number: int) -> Json:
        return self.get(f"/v1/episodes/{number}")

    def replay(self, match: str, *, form: str = "peck", episode: int = 0) -> Json:
        return self.get(f"/v1/matches/{match}/replay", format=form, episode=episode)

    def seat_log(self, match: str, seat: int, *, form: str = "raw") -> Any:
        return self.send(
            "GET", f"/v1/matches/{match}/seats/{seat}/log", params={"format": form}
        ).json()

    def request_scrim(
        self,
        season: str,
        lineup: Sequence[str],
        *,
        games: int = 1,
        seeds: Sequence[str] | None = None,
        team: str | None = None,
        privacy: Json | None = None,
    ) -> Json:
        body = {
            "season": season,
            "lineup": list(lineup),
            "games": games,
            "seeds": list(seeds) if seeds else None,
            "team": team,
            "privacy": privacy or {},
        }
        return self.post("/v1/scrims", body)

    def fork_match(self, match: str, body: Json) -> Json:
        return self.post(f"/v1/matches/{match}/forks", body)

    def scrim(self, key: str) -> Json:
        return self.get(f"/v1/scrims/{key}")

    def start_comparison(self, league: str, **wanted: Any) -> Json:
        """Starts a comparison of ``old`` and ``new``: see ``POST /v1/leagues/…/comparisons``."""
        return self.post(f"/v1/leagues/{league}/comparisons", wanted)

    def plan_comparison(self, league: str, **wanted: Any) -> Json:
        """Says how many pairs today allows, and which limit ends them."""
        return self.post(f"/v1/leagues/{league}/comparisons/plan", wanted)

    def comparison(self, key: str) -> Json:
        return self.get(f"/v1/comparisons/{key}")

    def cancel_comparison(self, key: str) -> Json:
        return self.post(f"/v1/comparisons/{key}/cancel", {})

    def cancel_scrim(self, key: str) -> Json:
        return self.post(f"/v1/scrims/{key}/cancel", None)

    def scrim_policy(self, agent: str, **which: Any) -> Json:
        """Whether a team may play the agent. ``which`` may name ``season`` and ``as``."""
        return self.get(f"/v1/agents/{agent}/scrim-policy", **which)

    def set_scrim_policy(self, agent: str, policy: Json) -> Json:
        answer: Json = self.send("PUT", f"/v1/agents/{agent}/scrim-policy", json=policy).json()
        return answer

    def scrim_opponents(self, season: str, **which: Any) -> list[Json]:
        """Agents of a season with the answers of their policies. ``which`` may name ``as``."""
        found: list[Json] = self.get(f"/v1/seasons/{season}/scrim-opponents", **which)["items"]
        return found

    def ask_for_scrim(self, season: str, lineup: Sequence[str], **terms: Any) -> Json:
        return self.post("/v1/scrim-requests", {"season": season, "lineup": list(lineup), **terms})

    def scrim_requests(self, *, most: int | None = None, **which: Any) -> Iterator[Json]:
        """Requests to and from your teams; ``box`` is inbox, outbox or both."""
        return self.list_items("/v1/scrim-requests", most=most, **which)

    def scrim_request(self, key: str) -> Json:
        return self.get(f"/v1/scrim-requests/{key}")

    def answer_scrim_request(self, key: str, act: str, words: str = "") -> Json:
        """``act`` is accept, decline or withdraw."""
        body = {"words": words} if act == "decline" else None
        return self.post(f"/v1/scrim-requests/{key}/{act}", body)

    def plan_batch(self, body: Json) -> Json:
        return self.post("/v1/scrim-batches/plan", body)

    def start_batch(self, body: Json) -> Json:
        return self.post("/v1/scrim-batches", body)

    def batches(self, *, most: int | None = None) -> Iterator[Json]:
        return self.list_items("/v1/scrim-batches", most=most)

    def batch(self, key: str) -> Json:
        return self.get(f"/v1/scrim-batches/{key}")

    def batch_csv(self, key: str) -> str:
        return self.send("GET", f"/v1/scrim-batches/{key}/results", params={"format": "csv"}).text

    def cancel_batch(self, key: str) -> Json:
        return self.post(f"/v1/scrim-batches/{key}/cancel", None)
