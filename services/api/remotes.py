"""Remote agents: submissions that are an address of their owner's instead of a bundle."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from games import GAMES
from ladder.entries import agents, entries
from ladder.errors import Invalid
from ladder.leagues.making import supports_remote
from ladder.leagues.records import Season
from ladder.people import quotas
from ladder.values import Line
from sandbox.remote import address
from services.api.entries import shown as shown_entry
from services.api.seasons import LimitsOut
from services.api.submissions import UploadOut, shown
from services.http import permissions
from services.http.auth import Writer
from services.http.bodies import waited_seconds
from services.http.fields import AgentKey, Filter
from services.http.idempotency import Once
from services.http.problems import ProblemError, of
from services.http.state import Db, House

router = APIRouter(prefix="/v1", tags=["submissions"])
FILENAME: Final = "remote.json"


class NewRemote(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": "https://snake.example.org/k3J9"}]}
    )
    url: Annotated[
        str,
        Field(
            max_length=2000,
            description="where it answers Battlesnake's requests; put a secret into the path, since"
            " whoever knows the address may submit it",
        ),
    ]
    api: Literal["1", "2017"] = Field(
        default="1", description="which version of Battlesnake's API it speaks"
    )
    message: Line = ""


@router.post(
    "/agents/{agent}/remotes",
    status_code=201,
    summary="Submit a remote agent",
    response_model=UploadOut,
    responses={
        200: {"model": UploadOut, "description": "The same address was here before"},
        **of(403, 404, 409, 429),
    },
)
def submit_remote(
    agent: AgentKey,
    body: NewRemote,
    request: Request,
    conn: Db,
    who: Writer,
    house: House,
    once: Once,
    season: Filter = None,
) -> Response:
    """An address of yours in the place of a bundle, for a season that takes remote agents.

    Repeating it gives the same submission and costs nothing. With `season` it also enters that
    season and takes one of the team's uploads of the day, as a bundle does; one that was rejected
    there is validated again.
    """
    found = permissions.own_agent(conn, who, agent)
    entering = permissions.season(conn, who, season) if season else None
    if entering is not None:
        permissions.require_entering(conn, who, entering, found.team_id)
        refuse_unspoken(entering)
    try:
        where = address.parse(body.url)
        content = address.manifest(where, body.api)
    except address.AddressError as error:
        raise Invalid(error.field, error.message) from None

    def create() -> tuple[UploadOut, int]:
        submission, created = agents.add_submission(
            conn,
            found.id,
            hashlib.sha256(content).hexdigest(),
            len(content),
            FILENAME,
            body.message,
            who.user_id,
            url=str(where),
        )
        if created:
            quotas.uploads(conn, submission.team_id)
        out = UploadOut(submission=shown(who, submission))
        if entering is not None:
            entry, limits, entered = entries.enter(
                conn, entering.id, submission.id, waited_seconds=waited_seconds(request)
            )
            out.entry = shown_entry(conn, who, entry)
            out.limits = LimitsOut.model_validate(limits)
            created = created or entered
        house.blobs.put_bytes(content)  # last, so that nothing is kept of what is refused
        return out, 201 if created else 200

    return once.run(create)


def refuse_unspoken(season: Season) -> None:
    """Raises ProblemError where no season of the game can have remote agents; whether this one
    has them is another question."""
    game = GAMES.get(season.game)
    if game is not None and not season.remote_agents and not supports_remote(game):
        raise ProblemError(
            "conflict",
            f"{game.title} is not played by remote agents: they are asked in Battlesnake's API, in"
            " which it cannot be told; upload a bundle",
        )
