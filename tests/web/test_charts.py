"""The charts of a season and of an agent, and the tables behind them."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta

from ladder.database.db import connect
from ladder.ids import MatchId
from ladder.ratings import standing_versions
from ladder.reports.season_charts import MoveTime, evenly_in_time
from services.web import charts
from services.web.charts import spread_letters
from services.web.formatting import score_text
from tests.web.conftest import Site

START = datetime(2026, 5, 4, tzinfo=UTC)
CHARTS = "/leagues/hungry-geese/charts"


def test_chosen_standings_are_even_in_time_with_both_ends() -> None:
    # 100 versions in the first minute, then one an hour.
    crowded = [(n, START + timedelta(seconds=n / 2)) for n in range(100)]
    hourly = [(100 + n, START + timedelta(hours=n + 1)) for n in range(20)]
    chosen = evenly_in_time([*crowded, *hourly], 11)
    assert (chosen[0], chosen[-1]) == (0, 119)
    assert len(chosen) <= 11
    assert sum(version < 100 for version in chosen) == 1
    assert evenly_in_time(hourly, 40) == [version for version, _ in hourly]


def test_letters_at_the_ends_of_lines_do_not_overlap() -> None:
    ends = [(10.0, 0), (11.0, 1), (198.0, 2), (199.0, 3)]
    placed = spread_letters(ends, floor=200.0)
    heights = [height for height, _ in placed]
    assert all(low - high >= 13 for high, low in itertools.pairwise(heights))
    assert max(heights) <= 200.0
    assert [place for _, place in placed] == [0, 1, 2, 3]


def test_a_chart_compares_the_chosen_agents_over_time(site: Site) -> None:
    """Without a choice the first four of the board are drawn. One of them may have no rank."""
    first = site.get(CHARTS).text
    scores, ranks = (
        part.count('<polyline class="series-') for part in first.split('id="ranks-title"', 1)
    )
    assert scores == 2 * 4  # two sizes of a chart
    assert ranks in (2 * 3, 2 * 4)
    two = site.contest.active[2:4]
    page = site.get(CHARTS + "?" + "&".join(f"agent={entry.agent_id}" for entry in two)).text
    assert page.count('<polyline class="series-') == 2 * 2 * 2
    assert re.search(rf"/compare\?agent=({two[0].agent_id}|{two[1].agent_id})&amp;", page)
    with connect(site.database_url) as conn:
        found = standing_versions.latest_version(conn, site.contest.season.id)
    assert found is not None
    table = page.split("Official score and rank over time", 1)[1].split("</table>", 1)[0]
    for entry in two:
        place = found[1][entry.id]
        shown = f"{score_text(place.score)} ± {score_text(1.96 * place.sigma)}"
        assert shown in re.sub(r"\s+", " ", table)
    assert site.get(CHARTS + "?agent=x" * 9).status_code in (404, 422)


def test_placements_are_counted_by_seat(site: Site) -> None:
    text = site.get(CHARTS).text.split('id="seats-title"', 1)[1]
    assert text.count('<rect class="place-1"') == 2 * 4  # four seats, two sizes
    shares = [float(one) for one in re.findall(r'num">([\d.]+)%</td>', text)]
    assert len(shares) == 4
    assert 99 < sum(shares) < 140  # shared first places count for each


def test_only_the_team_sees_the_times_of_its_moves(site: Site) -> None:
    path = f"/agents/{site.contest.own[0].agent_id}"
    assert 'circle class="move"' in site.get(path, site.contest.owner_token).text
    for token in (None, site.contest.host_token, site.contest.stranger_token):
        assert "Slowest move" not in site.get(path, token).text


def test_charts_of_a_hidden_league_are_missing(site: Site) -> None:
    assert site.get("/leagues/club/charts").status_code == 404


def test_a_move_without_time_under_a_clock_without_free_time_is_drawn() -> None:
    row = MoveTime(MatchId("mat_x"), START, "DONE", 0.0, 0.0)
    assert charts.draw_move_times([row], 0.0).count('circle class="move"') == 2


def test_the_axis_of_ranks_has_whole_ranks_and_the_best_one() -> None:
    assert charts.rank_ticks(0.5, 5.5) == [1, 2, 3, 4, 5]
    assert charts.rank_ticks(0.5, 20.5) == [1, 5, 10, 15, 20]
    assert charts.rank_ticks(2.5, 3.5) == [3]


def test_the_order_in_a_bar_is_told_without_its_colours(site: Site) -> None:
    assert "In each bar first place is at the left" in site.get(CHARTS).text
