"""Health checks: whether this process runs and can serve."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from services.http.app_state import AppState, Db
from services.http.lazy_routes import LazyRoute

router = APIRouter(tags=["health"], route_class=LazyRoute)


class Health(BaseModel):
    status: Literal["ok"] = "ok"


@router.get("/health/live", summary="Check that the process runs")
def read_liveness() -> Health:
    """Always 200 while the process can answer. Checks nothing else."""
    return Health()


@router.get("/health/ready", summary="Check that the process can serve")
def read_readiness(conn: Db, app_state: AppState) -> Health:
    """200 if the database and the blob store answer, else 503."""
    conn.execute("select 1")
    app_state.blobs.exists("0" * 64)
    return Health()
