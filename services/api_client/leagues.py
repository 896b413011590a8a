"""The API of leagues, seasons and moderation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from services.api_client.connection import Connection, Json


class Leagues(Connection):
    """Calls about leagues, their people and seasons, and moderation."""

    def leagues(self) -> Iterator[Json]:
        return self.list_items("/v1/leagues", limit=200)

    def league(self, key: str) -> Json:
        return self.get(f"/v1/leagues/{key}")

    def create_league(self, slug: str, title: str, game: str, **more: Any) -> Json:
        return self.post("/v1/leagues", {"slug": slug, "title": title, "game": game, **more})

    def change_league(self, league: str, **change: Any) -> Json:
        return self.patch(f"/v1/leagues/{league}", change)

    def seasons(self, league: str) -> list[Json]:
        """The seasons of a league, newest first."""
        found: list[Json] = self.get(f"/v1/leagues/{league}/seasons")["items"]
        return found

    def change_season(
        self, season: str, state: str | None = None, medals: Json | None = None
    ) -> Json:
        """Opens, locks or finishes a season, or moves its medal lines."""
        return self.patch(f"/v1/seasons/{season}", {"state": state, "medals": medals})

    def create_season(self, league: str, **more: Any) -> Json:
        return self.post(f"/v1/leagues/{league}/seasons", more, nulls=True)

    def add_anchors(self, season: str, names: Sequence[str] = (), *, fill: bool = False) -> Json:
        """Adds the named reference agents. With ``fill`` also more, until one agent can play."""
        return self.post(f"/v1/seasons/{season}/anchors", {"anchors": list(names), "fill": fill})

    def rehearse(self, league: str) -> Json:
        return self.post(f"/v1/leagues/{league}/rehearsals")

    def put_member(self, league: str, user: str, role: str) -> None:
        self.send("PUT", f"/v1/leagues/{league}/members/{user}", json={"role": role})

    def remove_member(self, league: str, user: str) -> None:
        self.send("DELETE", f"/v1/leagues/{league}/members/{user}")

    def members(self, league: str) -> Iterator[Json]:
        return self.list_items(f"/v1/leagues/{league}/members", limit=200)

    def league_to_join(self, league: str) -> Json:
        """Title and terms of a league that takes requests."""
        return self.get(f"/v1/leagues/{league}/requests/terms")

    def request_to_join(self, league: str, terms: str, words: str = "") -> Json:
        return self.post(f"/v1/leagues/{league}/requests", {"terms": terms, "words": words})

    def join_requests(self, league: str, *, state: str | None = None) -> Iterator[Json]:
        return self.list_items(f"/v1/leagues/{league}/requests", limit=200, state=state)

    def answer_requests(self, league: str, act: str, **answer: Any) -> list[Json]:
        """Approves or declines requests, by ids (``requests``) or ``all``."""
        path = f"/v1/leagues/{league}/requests/answers"
        found: list[Json] = self.post(path, {"act": act, **answer})["items"]
        return found

    def own_requests(self) -> list[Json]:
        found: list[Json] = self.get("/v1/me/requests")["items"]
        return found

    def withdraw_request(self, request: str) -> Json:
        done: Json = self.send("DELETE", f"/v1/me/requests/{request}").json()
        return done

    def league_blocks(self, league: str) -> Iterator[Json]:
        return self.list_items(f"/v1/leagues/{league}/blocks", limit=200)

    def block_from_league(self, league: str, user: str, reason: str) -> None:
        self.send("PUT", f"/v1/leagues/{league}/blocks/{user}", json={"reason": reason})

    def unblock_from_league(self, league: str, user: str) -> None:
        self.send("DELETE", f"/v1/leagues/{league}/blocks/{user}")

    def invite(self, league: str, **terms: Any) -> Json:
        return self.post(f"/v1/leagues/{league}/invitations", terms)

    def invitations(self, league: str) -> Iterator[Json]:
        return self.list_items(f"/v1/leagues/{league}/invitations", limit=200)

    def revoke_invitation(self, league: str, invitation: str) -> Json:
        path = f"/v1/leagues/{league}/invitations/{invitation}"
        revoked: Json = self.send("DELETE", path).json()
        return revoked

    def invitation_terms(self, code: str) -> Json:
        return self.post("/v1/join/terms", {"code": code})

    def join(self, code: str, terms: str) -> Json:
        return self.post("/v1/join", {"code": code, "terms": terms})

    def terms(self, league: str, **settings: str | None) -> Json:
        return self.get(f"/v1/leagues/{league}/terms", **settings)

    def consent(self, league: str, terms: str) -> Json:
        path = f"/v1/leagues/{league}/consent"
        told: Json = self.send("PUT", path, json={"terms": terms}).json()
        return told

    def import_roster(self, league: str, csv: str, *, dry_run: bool = False) -> Json:
        return self.post(f"/v1/leagues/{league}/roster", {"csv": csv, "dry_run": dry_run})

    def roster(self, league: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/leagues/{league}/roster")["items"]
        return found

    def standings(self, season: str, *, form: str = "json") -> str:
        path = f"/v1/seasons/{season}/standings"
        return self.send("GET", path, params={"format": form}).text

    def participants(self, season: str, *, form: str = "json") -> str:
        """Who passed validation and where everybody stands, as JSON or CSV; hosts only."""
        path = f"/v1/seasons/{season}/participants"
        return self.send("GET", path, params={"format": form}).text

    def extend(self, season: str, team: str, closes_at: str, reason: str) -> Json:
        path, body = f"/v1/seasons/{season}/extensions/{team}", {"closes_at": closes_at}
        made: Json = self.send("PUT", path, json={**body, "reason": reason}).json()
        return made

    def extensions(self, season: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/seasons/{season}/extensions")["items"]
        return found

    def season(self, key: str) -> Json:
        return self.get(f"/v1/seasons/{key}")

    def leaderboard(self, season: str, *, most: int | None = None) -> Iterator[Json]:
        limit = min(most or 1000, 1000)
        return self.list_items(f"/v1/seasons/{season}/leaderboard", most=most, limit=limit)

    def leaderboard_head(self, season: str) -> Json:
        """The leaderboard with its first row alone: how many results it includes, and its rules."""
        return self.get(f"/v1/seasons/{season}/leaderboard", limit=1)

    def seals(self, season: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/seasons/{season}/seals")["items"]
        return found

    def season_health(self, season: str) -> Json:
        return self.get(f"/v1/seasons/{season}/health")

    def declare(self, season: str, team: str, entry: str | None) -> Json:
        """Declares the entry that ranks the team. None: the service chooses."""
        path = f"/v1/seasons/{season}/teams/{team}/entry"
        said: Json = self.send("PUT", path, json={"entry": entry}).json()
        return said

    def limits(self, season: str, team: str | None = None) -> Json:
        return self.get(f"/v1/seasons/{season}/limits", team=team)

    def disqualify(self, season: str, subject: str, reason: str) -> Json:
        body = {"subject": subject, "reason": reason}
        return self.post(f"/v1/seasons/{season}/disqualifications", body)

    def reinstate(self, season: str, subject: str, reason: str) -> Json:
        body = {"subject": subject, "reason": reason}
        return self.post(f"/v1/seasons/{season}/reinstatements", body)

    def preview_rejudgement(self, season: str, **predicate: str | None) -> Json:
        given = {name: value for name, value in predicate.items() if value is not None}
        return self.post(f"/v1/seasons/{season}/rejudgements/preview", {"predicate": given})

    def rejudge(self, season: str, reason: str, **predicate: str | None) -> Json:
        given = {name: value for name, value in predicate.items() if value is not None}
        body = {"predicate": given, "reason": reason}
        return self.post(f"/v1/seasons/{season}/rejudgements", body)

    def rejudgement(self, key: str) -> Json:
        return self.get(f"/v1/rejudgements/{key}")

    def cancel_rejudgement(self, key: str, reason: str) -> Json:
        return self.post(f"/v1/rejudgements/{key}/cancellations", {"reason": reason})

    def suspects(self, season: str) -> Json:
        return self.get(f"/v1/seasons/{season}/suspects")

    def share_place(self, season: str, teams: Sequence[str], reason: str) -> Json:
        body = {"teams": [*teams], "reason": reason}
        return self.post(f"/v1/seasons/{season}/shared-places", body)

    def separate(self, season: str, place: str, reason: str) -> Json:
        path = f"/v1/seasons/{season}/shared-places/{place}/separations"
        return self.post(path, {"reason": reason})

    def audits(self, league: str, *, most: int | None = None) -> Iterator[Json]:
        return self.list_items(
            f"/v1/leagues/{league}/audits", most=most, limit=min(most or 50, 200)
        )
