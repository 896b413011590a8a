"""A client of the public API in one file, used by `peck` and the tests.

    with Client("http://127.0.0.1:8000", token="peck_...") as ladder:
        agent = ladder.create_agent("Flood")
        ladder.upload(agent["id"], Path("main.py"), season="geese")

Returns the API's JSON as dictionaries. Raises ApiError with the service's message.
"""

from __future__ import annotations

import json
import os
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import httpx

Json = dict[str, Any]
TIMEOUT_SECONDS: Final = 60.0
AGAIN_SECONDS: Final = 3.0
CHUNK_BYTES: Final = 1 << 16


class ApiError(Exception):
    """The service refused a request. The message is the service's sentence, ``problem`` the whole
    answer."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.problem = dict(problem)
        self.status = status

    @property
    def slug(self) -> str:
        """The last part of the problem's type: ``not-found``."""
        return str(self.problem.get("type", "")).rsplit("/", 1)[-1]


class Unreachable(Exception):
    """The address did not answer."""


def tls_context(address: str) -> ssl.SSLContext:
    """The certificates that a client of this address trusts.

    None for ``http://``, because reading certificates takes 30 to 50 ms of processor time. Without
    them a redirect to ``https://`` fails.
    """
    if address.lower().startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()


class Client:
    """One connection to a ladder service. Close it, or use it in ``with``."""

    def __init__(
        self, address: str, token: str | None = None, *, http: httpx.Client | None = None
    ) -> None:
        self.address = address.rstrip("/")
        self.http = http or httpx.Client(
            base_url=self.address, timeout=TIMEOUT_SECONDS, verify=tls_context(self.address)
        )
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.before_change: Callable[[Client], None] | None = None
        """Called once, before the first request other than GET."""

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    # -- requests -----------------------------------------------------------------------------

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Sends one request. Raises ApiError for an error answer, Unreachable without an answer."""
        if method != "GET" and self.before_change is not None:
            before, self.before_change = self.before_change, None
            before(self)
        headers = {**self.headers, **options.pop("headers", {})}
        params = {k: v for k, v in (options.pop("params", None) or {}).items() if v is not None}
        try:
            # An empty dictionary would delete the query of a `next` link.
            response = self.http.request(
                method, path, headers=headers, params=params or None, **options
            )
        except httpx.HTTPError as error:
            raise Unreachable(f"no answer from {self.address}: {error}") from error
        if response.is_error:
            try:
                problem = response.json()
            except ValueError:
                problem = {"detail": response.text[:200]}
            raise ApiError(problem if isinstance(problem, dict) else {}, response.status_code)
        return response

    def get(self, path: str, **params: Any) -> Json:
        """Sends a GET, and repeats it once if the connection broke after a quiet time."""
        found: Json = self.retry_once(lambda: self.send("GET", path, params=params)).json()
        return found

    def post(self, path: str, body: Json | None = None) -> Json:
        """Sends a POST with a new Idempotency-Key, and repeats it once if the connection broke."""
        options: dict[str, Any] = {"headers": {"Idempotency-Key": str(uuid.uuid4())}}
        if body is not None:
            options["json"] = {key: value for key, value in body.items() if value is not None}
        made: Json = self.retry_once(lambda: self.send("POST", path, **options)).json()
        return made

    def patch(self, path: str, body: Json) -> Json:
        changed: Json = self.send("PATCH", path, json=body).json()
        return changed

    @staticmethod
    def retry_once(ask: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            return ask()
        except Unreachable:
            return ask()

    def list_items(self, path: str, *, most: int | None = None, **params: Any) -> Iterator[Json]:
        """The items of a list over all its pages, at most ``most``."""
        page = self.get(path, **params)
        count = 0
        while True:
            for item in page["items"]:
                if most is not None and count >= most:
                    return
                count += 1
                yield item
            if page["next"] is None:
                return
            page = self.send("GET", page["next"]).json()

    # -- people -------------------------------------------------------------------------------

    def me(self) -> Json:
        return self.get("/v1/me")

    def feed(self, *, most: int | None = None) -> Iterator[Json]:
        """The feed of the caller's teams, newest first."""
        return self.list_items("/v1/me/feed", most=most, limit=min(most or 50, 200))

    def notices(self, *, unread: bool = False, most: int | None = None) -> Iterator[Json]:
        """Your notices, newest first."""
        return self.list_items("/v1/me/notices", most=most, unread=unread)

    def mark_notices_read(self, until: str) -> Json:
        """Marks this notice and all older ones as read."""
        found: Json = self.send("POST", "/v1/me/notices/read", json={"until": until}).json()
        return found

    def notice_channels(self) -> list[Json]:
        """Where your notices go."""
        return list(self.list_items("/v1/me/notices/channels"))

    def create_notice_channel(self, address: str, form: str = "webhook") -> Json:
        """Makes a channel; the answer shows the secret of a webhook once."""
        return self.post("/v1/me/notices/channels", {"form": form, "address": address})

    def notice_deliveries(self, channel: str, *, most: int | None = None) -> Iterator[Json]:
        """What was sent to a channel, newest first."""
        return self.list_items(f"/v1/me/notices/channels/{channel}/deliveries", most=most)

    def notice_feeds(self) -> list[Json]:
        """Your private Atom feeds, without their addresses."""
        return list(self.list_items("/v1/me/notices/feeds"))

    def create_notice_feed(self, *, agent: str | None = None, league: str | None = None) -> Json:
        """Makes a private feed; the answer shows its secret address once."""
        return self.post("/v1/me/notices/feeds", {"agent": agent, "league": league})

    def follow_feed(self, after: str | None = None) -> Iterator[Json]:
        """Yields new items of the feed, or the items after this key, without end. Reconnects after
        the stream ends or breaks, without losing items."""
        while True:
            headers = {**self.headers, **({"Last-Event-ID": after} if after else {})}
            try:
                with self.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
                    if answer.is_error:
                        answer.read()
                        refused = answer.json()
                        if answer.status_code == 503:
                            time.sleep(float(answer.headers.get("Retry-After", AGAIN_SECONDS)))
                            continue
                        if after is None or "begin_at" not in refused:
                            raise ApiError(refused, answer.status_code)
                        yield from self._feed_between(after, refused["begin_at"])
                        after = refused["begin_at"]
                        continue
                    for line in answer.iter_lines():
                        name, _, value = line.partition(": ")
                        if name == "id":
                            after = value
                        elif name == "data":
                            yield json.loads(value)
            except httpx.HTTPError:
                pass
            time.sleep(AGAIN_SECONDS)

    def _feed_between(self, after: str, until: str) -> list[Json]:
        """Items of the feed after ``after`` up to ``until``, oldest first."""
        found = []
        for item in self.feed():
            if item["key"] <= after:
                break
            if item["key"] <= until:
                found.append(item)
        return found[::-1]

    def export_account(self, path: Path, progress: Callable[[int], None]) -> int:
        """Writes the zip file of the caller's data to a new file; returns its bytes.

        Calls ``progress`` with the bytes so far, about once for each 16 MiB. An answer that breaks
        off leaves no file.
        """
        size, told = 0, 0
        try:
            with self.http.stream("GET", "/v1/users/me/export", headers=self.headers) as answer:
                if answer.is_error:
                    answer.read()
                    raise ApiError(answer.json(), answer.status_code)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    for chunk in answer.iter_bytes(CHUNK_BYTES):
                        file.write(chunk)
                        size += len(chunk)
                        if size - told >= 16 << 20:
                            told = size
                            progress(size)
        except httpx.HTTPError as error:
            path.unlink(missing_ok=True)
            raise Unreachable(f"no answer from {self.address}: {error}") from error
        return size

    def delete_account(self, name: str, password: str = "") -> Json:
        """Deletes the caller's account for good."""
        return self.post("/v1/users/me/deletion", {"name": name, "password": password})

    def create_user(self, name: str, *, is_admin: bool = False) -> Json:
        return self.post("/v1/users", {"name": name, "is_admin": is_admin})

    def mint_token(
        self, label: str, scopes: Sequence[str], *, user: str = "me", expires_at: str | None = None
    ) -> Json:
        body = {"label": label, "scopes": list(scopes), "expires_at": expires_at}
        return self.post(f"/v1/users/{user}/tokens", body)

    def sign_up(self, name: str, password: str, code: str = "") -> Json:
        """Makes an account; the answer holds its token."""
        body = {"name": name, "password": password, "code": code}
        made: Json = self.send("POST", "/v1/sign-up", json=body).json()  # once: no key protects it
        return made

    def start_device_login(self, device: str) -> Json:
        """Starts a login that a person confirms in a browser."""
        return self.post("/v1/device-logins", {"device": device})

    def device_token(self, secret: str) -> Json:
        """The state of a device's login, with the token once it is confirmed."""
        answer: Json = self.send("POST", "/v1/device-logins/token", json={"secret": secret}).json()
        return answer

    # -- teams --------------------------------------------------------------------------------

    def create_team(self, name: str, slug: str | None = None, *, owner: str | None = None) -> Json:
        return self.post("/v1/teams", {"name": name, "slug": slug, "owner": owner})

    def team(self, key: str) -> Json:
        return self.get(f"/v1/teams/{key}")

    def team_members(self, key: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/teams/{key}/members")["items"]
        return found

    def invite_to_team(self, key: str, **terms: Any) -> Json:
        return self.post(f"/v1/teams/{key}/invitations", terms)

    def invitations_to_me(self) -> list[Json]:
        found: list[Json] = self.get("/v1/users/me/team-invitations")["items"]
        return found

    def answer_team_invitation(self, invitation: str, answer: str) -> Json:
        """Accepts or declines an invitation to the caller: ``accept``, ``decline``."""
        return self.post(f"/v1/users/me/team-invitations/{invitation}/{answer}")

    def join_team(self, code: str) -> Json:
        return self.post("/v1/join-team", {"code": code})

    # -- leagues ------------------------------------------------------------------------------

    def leagues(self) -> Iterator[Json]:
        return self.list_items("/v1/leagues", limit=200)

    def league(self, key: str) -> Json:
        return self.get(f"/v1/leagues/{key}")

    def create_league(self, slug: str, title: str, game: str, **more: Any) -> Json:
        return self.post("/v1/leagues", {"slug": slug, "title": title, "game": game, **more})

    def create_season(self, league: str, **more: Any) -> Json:
        return self.post(f"/v1/leagues/{league}/seasons", more)

    def add_anchors(self, season: str, names: Sequence[str] = (), *, fill: bool = False) -> Json:
        """Adds the named reference agents. With ``fill`` also more, until one agent can play."""
        return self.post(f"/v1/seasons/{season}/anchors", {"anchors": list(names), "fill": fill})

    def rehearse(self, league: str) -> Json:
        return self.post(f"/v1/leagues/{league}/rehearsals")

    def put_member(self, league: str, user: str, role: str) -> None:
        self.send("PUT", f"/v1/leagues/{league}/members/{user}", json={"role": role})

    def remove_member(self, league: str, user: str) -> None:
        self.send("DELETE", f"/v1/leagues/{league}/members/{user}")

    def members(self, league: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/leagues/{league}/members")["items"]
        return found

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

    # -- moderation ---------------------------------------------------------------------------

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

    # -- agents and uploads -------------------------------------------------------------------

    def agents(self, team: str | None = None) -> Iterator[Json]:
        return self.list_items("/v1/agents", team=team, limit=200)

    def create_agent(self, name: str, *, slug: str | None = None, team: str | None = None) -> Json:
        return self.post("/v1/agents", {"name": name, "slug": slug, "team": team})

    def change_agent(self, agent: str, **change: Any) -> Json:
        return self.patch(f"/v1/agents/{agent}", change)

    def delete_agent(self, agent: str) -> None:
        """Deletes an agent without submissions."""
        self.send("DELETE", f"/v1/agents/{agent}")

    def submit_remote(
        self,
        agent: str,
        url: str,
        *,
        api: str = "1",
        season: str | None = None,
        message: str = "",
    ) -> Json:
        """Submits an address instead of a bundle. With ``season`` also enters it."""
        query = f"?season={season}" if season else ""
        body = {"url": url, "api": api, "message": message}
        return self.post(f"/v1/agents/{agent}/remotes{query}", body)

    def resume(self, entry: str) -> Json:
        """Tries a paused entry now."""
        return self.post(f"/v1/entries/{entry}/resume")

    def upload(
        self,
        agent: str,
        bundle: Path | bytes,
        *,
        filename: str | None = None,
        season: str | None = None,
        message: str = "",
        profile: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Json:
        """Uploads a bundle. With ``season`` also enters it. Calls ``progress`` with each chunk's
        size.

        Equal bytes for the same agent give the same submission. So the client repeats the upload
        once after a broken connection.
        """
        content = bundle if isinstance(bundle, bytes) else None
        name = filename or ("main.py" if content is not None else Path(str(bundle)).name)
        size = len(content) if content is not None else Path(str(bundle)).stat().st_size

        def ask() -> httpx.Response:
            body = content if content is not None else file_chunks(Path(str(bundle)), progress)
            return self.send(
                "POST",
                f"/v1/agents/{agent}/submissions",
                params={
                    "filename": name,
                    "season": season,
                    "message": message or None,
                    "profile": profile,
                },
                headers={
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(size),
                },
                content=body,
            )

        made: Json = self.retry_once(ask).json()
        return made

    def submissions(self, agent: str) -> Iterator[Json]:
        return self.list_items(f"/v1/agents/{agent}/submissions")

    def submission(self, key: str) -> Json:
        return self.get(f"/v1/submissions/{key}")

    def submission_entries(self, submission: str) -> list[Json]:
        found: list[Json] = self.get(f"/v1/submissions/{submission}/entries")["items"]
        return found

    def enter(self, season: str, submission: str, *, profile: str | None = None) -> Json:
        body = {"submission": submission, "profile": profile}
        return self.post(f"/v1/seasons/{season}/entries", body)

    def entry(self, key: str) -> Json:
        return self.get(f"/v1/entries/{key}")

    def entries(self, *, season: str | None = None, agent: str | None = None) -> Iterator[Json]:
        return self.list_items("/v1/entries", season=season, agent=agent)

    def insights(self, key: str, *, within: float | None = None) -> Json:
        return self.get(f"/v1/entries/{key}/insights", within=within)

    def entry_log(self, key: str) -> Json:
        return self.get(f"/v1/entries/{key}/log")

    def profiles(self) -> list[Json]:
        found: list[Json] = self.get("/v1/profiles")["items"]
        return found

    # -- matches and scrims -------------------------------------------------------------------

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


def file_chunks(path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    """The bytes of a file. Calls ``progress`` with each chunk's size."""
    file: IO[bytes]
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
            if progress is not None:
                progress(len(chunk))
