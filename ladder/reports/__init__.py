"""Reports on play: an entry's insights, a team's feed, a season's alarm (``cadence``)."""
