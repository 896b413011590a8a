"""The leaderboard: ``leaderboard`` reads a season, ``board_updates`` what changed in it;
``board_ranking`` ranks the entries."""
