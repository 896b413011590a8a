"""The leaderboard: ``leaderboard`` reads the rows of a season, ``board_ranking`` ranks them."""
