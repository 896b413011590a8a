"""People: accounts, tokens, sessions, administration."""
