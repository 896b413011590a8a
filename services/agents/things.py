"""The agents, submissions and entries in addresses, as far as the viewer may see or use them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from ladder.entries.records import Agent, Entry, Submission
from services.http import permissions
from services.http.app_state import Db
from services.http.auth import Anyone
from services.http.path_parameters import AgentKey, EntryKey, SubmissionKey


def visible_agent(agent: AgentKey, conn: Db, viewer: Anyone) -> Agent:
    return permissions.visible_agent(conn, viewer, agent)


def own_agent(agent: AgentKey, conn: Db, viewer: Anyone) -> Agent:
    return permissions.own_agent(conn, viewer, agent)


def visible_submission(submission: SubmissionKey, conn: Db, viewer: Anyone) -> Submission:
    return permissions.visible_submission(conn, viewer, submission)


def visible_entry(entry: EntryKey, conn: Db, viewer: Anyone) -> Entry:
    return permissions.visible_entry(conn, viewer, entry)


def own_entry(entry: EntryKey, conn: Db, viewer: Anyone) -> Entry:
    return permissions.own_entry(conn, viewer, entry)


VisibleAgent = Annotated[Agent, Depends(visible_agent)]
OwnAgent = Annotated[Agent, Depends(own_agent)]
"""An agent of a team of the viewer."""
VisibleSubmission = Annotated[Submission, Depends(visible_submission)]
VisibleEntry = Annotated[Entry, Depends(visible_entry)]
OwnEntry = Annotated[Entry, Depends(own_entry)]
"""An entry of a team of the viewer."""
