"""The leaderboard: ``leaderboard.read`` reads the rows, ``standings.build`` makes the board."""
