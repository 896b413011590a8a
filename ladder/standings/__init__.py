"""The leaderboard: ``leaderboard.read_board`` reads rows, ``standings.build_board`` ranks them."""
