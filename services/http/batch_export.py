"""The results of a batch of scrims as CSV, for the API and the page."""

from __future__ import annotations

from typing import Final

from ladder.scrims.batches import BatchResults
from services.http.spreadsheets import csv_text

COLUMNS: Final = (
    *("first", "first_version", "second", "second_version", "state", "games", "finished_games"),
    *("void_games", "score", "low", "high", "first_faults", "second_faults"),
)


def results_csv(results: BatchResults) -> str:
    """One row for each pairing, with a header. Names cannot be formulas."""
    return csv_text(
        COLUMNS,
        [
            (
                *(cell.first_name, cell.first_number, cell.second_name, cell.second_number),
                *(cell.state, cell.games, cell.finished_games, cell.void_games),
                *("" if cell.score is None else round(cell.score, 4),),
                *(round(end, 4) for end in cell.interval),
                *(cell.first_faults, cell.second_faults),
            )
            for cell in results.cells
        ],
    )
