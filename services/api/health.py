"""Health checks: whether this process runs and can serve."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from services.http.app_state import AppState, Db, Faults
from services.http.lazy_routes import LazyRoute
from services.server_faults import Part

router = APIRouter(tags=["health"], route_class=LazyRoute)


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class FaultOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    part: Part
    text: str


class Readiness(BaseModel):
    status: Literal["ok", "degraded"]
    faults: list[FaultOut] = Field(
        description="Faults that an operator must repair; empty if `ok`."
    )


@router.get("/health/live", summary="Check that the process runs")
def read_liveness() -> Health:
    """Always 200 while the process can answer. Checks nothing else."""
    return Health()


def ask_blob_store(app_state: AppState) -> None:
    """Raises BlobsUnavailable if the blob store does not answer."""
    app_state.blobs.exists("0" * 64)


@router.get(
    "/health/ready",
    summary="Check that the process can serve",
    dependencies=[Depends(ask_blob_store)],
)
def read_readiness(faults: Faults, conn: Db) -> Readiness:
    """200 if the database and the blob store answer, else 503. The status is `degraded` while Redis
    takes no messages or the blob store is full: the site serves, but an operator must act. The
    faults may be a few seconds old."""
    conn.execute("select 1")
    return Readiness(
        status="degraded" if faults else "ok",
        faults=[FaultOut.model_validate(fault) for fault in faults],
    )
