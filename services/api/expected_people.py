"""The people whom an administrator expects, in the sign-up mode ``domain``."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from ladder.ids import ExpectedPersonId
from ladder.people import expected_people
from services.http.app_state import Db
from services.http.auth import Admin
from services.http.idempotency import Idempotent
from services.http.lazy_routes import LazyRoute
from services.http.paging import Page, Paging
from services.http.path_parameters import ExpectedPersonKey
from services.http.problems import problem_responses

router = APIRouter(prefix="/v1", tags=["accounts"], route_class=LazyRoute)
SAMPLE: Final = "name,address\nAda Lovelace,ada@example.edu\nGrace Hopper,\n"


class NewExpectedPeople(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"csv": SAMPLE}]})
    csv: Annotated[str, Field(max_length=250_000, description="with a header", examples=[SAMPLE])]


class ExpectedPersonOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: str = Field(examples=["exp_01j8x6m3c2k4v9q0w7r5t1y8z3"])
    name: str
    address: str | None
    user_id: str | None = Field(description="who signed up; null: nobody yet")


class AddedPersonOut(ExpectedPersonOut):
    code: str | None = Field(
        description="the person's code for signing up; shown only once, when the line is new"
    )


class AddedPeopleOut(BaseModel):
    items: list[AddedPersonOut]


@router.post(
    "/expected-people",
    status_code=201,
    summary="Add expected people",
    response_model=AddedPeopleOut,
    responses=problem_responses(403, 409),
)
def add_expected_people(
    body: NewExpectedPeople, conn: Db, who: Admin, once: Idempotent
) -> Response:
    """Administrators only. One line a person, with a name, a mail address or both. A line that is
    there already changes nothing."""

    def add() -> AddedPeopleOut:
        added = expected_people.add_people(conn, body.csv, by=who.user_id)
        shown = [(ExpectedPersonOut.model_validate(line), code) for line, code in added]
        return AddedPeopleOut(
            items=[AddedPersonOut(**line.model_dump(), code=code) for line, code in shown]
        )

    def without_codes(made: AddedPeopleOut) -> AddedPeopleOut:
        return AddedPeopleOut(items=[line.model_copy(update={"code": None}) for line in made.items])

    return once.run(add, keep=without_codes)


@router.get("/expected-people", summary="List expected people", responses=problem_responses(403))
def list_expected_people(conn: Db, who: Admin, span: Paging) -> Page[ExpectedPersonOut]:
    """Administrators only."""
    after = ExpectedPersonId(span.after) if span.after else None
    rows = expected_people.list_people(conn, after, span.limit)
    return span.page(rows, lambda row: row.id, ExpectedPersonOut.model_validate)


@router.delete(
    "/expected-people/{person}",
    status_code=204,
    summary="Remove an expected person",
    responses=problem_responses(403, 404),
)
def remove_expected_person(person: ExpectedPersonKey, conn: Db, who: Admin) -> Response:
    """Administrators only. An account that was made with the line stays."""
    expected_people.remove_person(conn, ExpectedPersonId(person))
    return Response(status_code=204)
