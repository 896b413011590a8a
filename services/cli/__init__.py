"""`peck`: the command line, a thin client of the public API."""
