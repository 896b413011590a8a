"""Request models for submitting an agent, with the bounds of each value."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ladder.field_types import LINE, Key, Name, Slug

MOST_NOTE_CHARACTERS: Final = 500
Note = Annotated[str, StringConstraints(pattern=LINE, max_length=MOST_NOTE_CHARACTERS)]
"""Note that a person adds to an upload. Only the team can read it."""


class NewRemote(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": "https://snake.example.org/k3J9"}]}
    )
    url: Annotated[
        str,
        Field(
            max_length=2000,
            description="address that answers Battlesnake's requests; put a secret into the path,"
            " because anybody who knows the address may submit it",
        ),
    ]
    api: Literal["1", "2017"] = Field(
        default="1", description="version of Battlesnake's API that the agent supports"
    )
    message: Note = ""


class Declaration(BaseModel):
    model_config = ConfigDict(extra="forbid")
    entry: Annotated[
        Key | None, Field(description="entry that represents the team; null: the service chooses")
    ]


class NewAgent(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Flood"}]})
    name: Name
    slug: Annotated[Slug | None, Field(description="default: made from the name")] = None
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None
