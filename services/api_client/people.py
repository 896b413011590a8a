"""The API of people and teams."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from services.api_client.connection import (
    CHUNK_BYTES,
    NO_SITE,
    ApiError,
    Connection,
    Json,
    Unreachable,
    problem_of,
)

AGAIN_SECONDS: Final = 3.0


class People(Connection):
    """Calls about the caller, other people and teams."""

    def me(self) -> Json:
        return self.get("/v1/me")

    def feed(self, *, most: int | None = None) -> Iterator[Json]:
        """The feed of the caller's teams, newest first."""
        return self.list_items("/v1/me/feed", most=most, limit=min(most or 50, 200))

    def notices(self, *, unread: bool = False, most: int | None = None) -> Iterator[Json]:
        """Your notices, newest first."""
        return self.list_items("/v1/me/notices", most=most, unread=unread)

    def open_requests(self) -> Iterator[Json]:
        """Requests that wait for your answer, newest first."""
        return self.list_items("/v1/me/open-requests")

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
        the stream ends or breaks, or while the site does not answer, without losing items."""
        while True:
            pause = AGAIN_SECONDS
            headers = {**self.headers, **({"Last-Event-ID": after} if after else {})}
            try:
                with self.http.stream("GET", "/v1/me/feed/stream", headers=headers) as answer:
                    self.refuse_redirect(answer)
                    if answer.is_error:
                        answer.read()
                        refused = problem_of(answer)
                        wait = answer.headers.get("Retry-After", "")
                        pause = float(wait) if wait.isdecimal() else AGAIN_SECONDS
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
            except ApiError as error:
                if error.status not in NO_SITE:
                    raise
            except (httpx.HTTPError, Unreachable):
                pass
            time.sleep(pause)

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
                self.refuse_redirect(answer)
                if answer.is_error:
                    answer.read()
                    raise ApiError(problem_of(answer), answer.status_code)
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
        return list(self.list_items("/v1/users/me/team-invitations", limit=200))

    def answer_team_invitation(self, invitation: str, answer: str) -> Json:
        """Accepts or declines an invitation to the caller: ``accept``, ``decline``."""
        return self.post(f"/v1/users/me/team-invitations/{invitation}/{answer}")

    def join_team(self, code: str) -> Json:
        return self.post("/v1/join-team", {"code": code})
