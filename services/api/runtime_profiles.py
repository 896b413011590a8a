"""Runtime profiles: the libraries in an agent's sandbox, and the nodes that offer them."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from ladder import runtime_profiles as known
from ladder.matches import workers as matches_workers
from sandbox import profiles
from services.http.app_state import Db
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page

router = APIRouter(prefix="/v1", tags=["profiles"], route_class=LazyRoute)


class ProfileOut(BaseModel):
    """A profile. A submission names one; every match of its entry uses it."""

    name: str = Field(examples=["numpy"])
    purpose: str = Field(examples=["arrays and linear algebra"])
    python: str = Field(
        description="version in the lock and the images; a node without a container engine uses "
        "its own version",
        examples=["3.11"],
    )
    libraries: dict[str, str] = Field(description="version by name", examples=[{"numpy": "2.4.6"}])
    gpu: bool = Field(description="whether a match has a GPU or a slice, which its seats share")
    served: bool = Field(description="whether a live node serves it now; if not, its entries wait")
    image_digests: list[str] = Field(description="digests of the images that live nodes use for it")


@router.get("/profiles", summary="List runtime profiles")
def list_profiles(conn: Db) -> Page[ProfileOut]:
    """Lists all profiles. ``served`` shows whether a node serves a profile now."""
    workers = matches_workers.live_workers(conn)
    return Page(items=[profile_out(profiles.PROFILES[name], workers) for name in known.NAMES])


def profile_out(profile: profiles.Profile, workers: list[matches_workers.Worker]) -> ProfileOut:
    able = [one for one in workers if profile.name in one.profiles and (one.gpu or not profile.gpu)]
    digests = {one.image_digests.get(profile.name) for one in able}
    return ProfileOut(
        name=profile.name,
        purpose=profile.purpose,
        python=profiles.PYTHON_VERSION,
        libraries=dict(profile.versions),
        gpu=profile.gpu,
        served=bool(able),
        image_digests=sorted(digest for digest in digests if digest),
    )
