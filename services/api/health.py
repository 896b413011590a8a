"""Whether this process lives and can serve."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from services.http.app_state import AppState, Db

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


@router.get("/health/live", summary="The process answers")
def read_liveness() -> Health:
    """Always 200 while the process can answer at all. Touches nothing else."""
    return Health()


@router.get("/health/ready", summary="The process can serve")
def read_readiness(conn: Db, app_state: AppState) -> Health:
    """200 when the database and the blob store answer, else 503."""
    conn.execute("select 1")
    app_state.blobs.exists("0" * 64)
    return Health()
