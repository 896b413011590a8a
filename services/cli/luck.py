"""The command that says how lucky the medals of a contest were: ``peck luck``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ladder.confidence_intervals import half_width
from ladder.errors import Invalid
from ladder.reports.contest_luck.contest_tables import read_contest
from ladder.reports.contest_luck.medal_odds import ContestLuck, LuckRow, measure_luck
from ladder.reports.contest_luck.odds_drawing import draw_odds
from services.cli.display import AsJson, print_json, stdout, table
from services.cli.saved_login import MissingInput


def register(app: typer.Typer) -> None:
    """Adds the command ``luck``."""
    app.command("luck")(luck)


def luck(
    episodes: Annotated[Path, typer.Argument(help="Meta Kaggle's Episodes.csv.")],
    agents: Annotated[Path, typer.Argument(help="Meta Kaggle's EpisodeAgents.csv.")],
    competition: Annotated[
        int | None, typer.Option(help="CompetitionId, if the tables hold several contests.")
    ] = None,
    teams: Annotated[
        Path | None,
        typer.Option(help="Meta Kaggle's Submissions.csv; without it a submission is a team."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Teams to show, best first.")] = 40,
    draw: Annotated[
        Path | None, typer.Option(help="File for a picture (SVG) of these rows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how lucky the medals of a Kaggle simulation contest were.

    All results are fitted at once. The board has 95 % intervals, each team's odds of a medal, and
    how far its official rank was from the likely one. Needs no service.
    """
    try:
        found = measure_luck(read_contest(episodes, agents, competition, teams))
    except Invalid as error:
        raise MissingInput(f"{error.field}: {error.message}") from None
    if draw is not None:
        draw.write_text(draw_odds(found.rows[:rows]))
    if as_json:
        print_json(asdict(found))
        return
    table(
        (
            "rank",
            "95 %",
            "team",
            "games",
            "score",
            "±",
            "gold",
            "silver",
            "medal",
            "official",
            "odds",
        ),
        (_cells(each) for each in found.rows[:rows]),
    )
    stdout.print(_summary(found))


def _cells(each: LuckRow) -> list[object]:
    official = "" if each.official_rank is None else str(each.official_rank)
    if each.official is not None:
        official += f" {each.official}"
    return [
        each.rank,
        f"{each.rank_low} to {each.rank_high}",
        str(each.team),
        each.games,
        each.score,
        half_width(each.sigma),
        *(_percent(chance) for chance in each.chances),
        official,
        None if each.deserved is None else _percent(each.deserved),
    ]


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %"


def _summary(found: ContestLuck) -> str:
    given = [each for each in found.rows if each.official is not None]
    text = f"{found.episodes:,} episodes, {len(found.rows):,} teams; odds: of the official medal"
    if found.wrong_medals is None:
        return text + "; the tables hold no official scores"
    off = sum(abs(each.rank - (each.official_rank or 0)) for each in given)
    return (
        f"{text} or a better one. About {found.wrong_medals:.0f} of {len(given)} official medals"
        f" went to teams that deserve another class or none. Official ranks of medallists are"
        f" {off / max(1, len(given)):.1f} from the likely ones, on average."
    )
