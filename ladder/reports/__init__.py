"""Reports on an entry (``insights``), a team (``feed``) and a season (``season_health``)."""
