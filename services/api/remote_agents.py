"""Remote agents: submissions that are an address instead of a bundle."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ladder.entries.request_models import NewRemote
from services.api.submissions import UploadOut, upload_out
from services.http import remote_agents
from services.http.app_state import AppState, Db
from services.http.auth import Writer
from services.http.body_limits import arrival_of
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.path_parameters import AgentKey, Filter
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["submissions"], route_class=LazyRoute)


@router.post(
    "/agents/{agent}/remotes",
    status_code=201,
    summary="Submit a remote agent",
    response_model=UploadOut,
    responses={
        200: {"model": UploadOut, "description": "The same address was submitted before"},
        **problem_responses(403, 404, 409, 429),
    },
)
def submit_remote(
    agent: AgentKey,
    body: NewRemote,
    request: Request,
    conn: Db,
    who: Writer,
    app_state: AppState,
    once: Idempotent,
    season: Filter = None,
) -> Response:
    """Submits an address instead of a bundle, for a season that takes remote agents.

    Repeating the request gives the same submission and uses no upload. With `season` the submission
    also enters that season and uses one of the team's uploads of the day. An address rejected there
    before is validated again.
    """
    agent_id, into = remote_agents.agent_and_season(conn, who, agent, season, arrival_of(request))

    def create() -> tuple[UploadOut, int]:
        sent = remote_agents.submit_remote_agent(conn, app_state, who, body, agent_id, into)
        return upload_out(conn, who, sent), 201 if sent.is_new else 200

    return once.run(create)
