"""Compares the tables of a tournament with those of ``tests.peers.naive_tournament_tables``."""

from __future__ import annotations

from collections.abc import Iterator

from ladder.tournaments.formats.course import standings
from ladder.tournaments.formats.records import Standing
from tests.peers.naive_tournament_tables import Line, compute
from tests.unit.ladder.tournaments.random_tournaments import Snapshot, as_plain

NAMES = {"score per pairing": "score", "points per heat": "points per heat"}
"""Names of the naive values that differ from the names of the table."""


def differences(snapshot: Snapshot) -> Iterator[str]:
    """Says what differs; nothing if all tables, fields and places are equal."""
    event, progress, course = snapshot.event, snapshot.progress, snapshot.course
    naive = compute(as_plain(snapshot))
    if [list(each) for each in course.fields] != naive.fields:
        yield f"fields: {course.fields} here, {naive.fields} naive"
    if list(course.ranking) != naive.places:
        yield f"places: {list(course.ranking)} here, {naive.places} naive"
    if course.champion != naive.champion:
        yield f"champion: {course.champion} here, {naive.champion} naive"
    if list(course.drawn_winners) != naive.drawn:
        yield f"drawn: {list(course.drawn_winners)} here, {naive.drawn} naive"
    for number, lines in enumerate(naive.stages, 1):
        table = standings(event, progress, course, number)
        for here, there in zip(table, lines, strict=True):
            if _line(here) != _line(there) or not _has_values(here, there):
                kind = type(event.plan.stages[number - 1]).__name__
                yield f"table {number} ({kind}): {here} here, {there} naive"


def champion_fault(snapshot: Snapshot) -> str:
    """Says what is wrong with the champion or with the places of those who left, else nothing."""
    course = snapshot.course
    stayed = set(range(1, snapshot.event.size + 1)) - set(snapshot.progress.withdrawn)
    if not course.finished:
        return "" if course.champion is None else "a champion before the end"
    if set(course.ranking[: len(stayed)]) != stayed:
        return f"{course.ranking}: somebody who left stands before one of {sorted(stayed)}"
    if course.champion != (course.ranking[0] if stayed else None):
        return f"the champion is {course.champion}, and these stayed: {sorted(stayed)}"
    return ""


def _line(one: Standing | Line) -> tuple[object, ...]:
    return one.entrant, one.rank, one.group, round(float(one.score), 9), one.played, one.wins


def _has_values(here: Standing, there: Line) -> bool:
    """Whether each tie-break of the table has the naive value, as far as its text shows it."""
    for name, text in here.tie_breaks:
        known = NAMES.get(name, name.removesuffix(" per pairing"))
        value = there.values.get(known, there.wins)
        if abs(float(value) - float(text)) > 1e-5 * max(1.0, abs(float(value))):
            return False
    return True
