"""The roster of a league, and the exports of a season's standings and participants."""
