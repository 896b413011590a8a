"""The API of agents, submissions and entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx

from services.api_client.connection import CHUNK_BYTES, Connection, Json


class Agents(Connection):
    """Calls about agents, submissions and entries."""

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

    def profiles(self) -> list[Json]:
        found: list[Json] = self.get("/v1/profiles")["items"]
        return found


def file_chunks(path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    """The bytes of a file. Calls ``progress`` with each chunk's size."""
    file: IO[bytes]
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
            if progress is not None:
                progress(len(chunk))
