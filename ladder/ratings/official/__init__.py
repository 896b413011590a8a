"""The official standing: one fit of all games of a season, and what follows from it. Pure."""
