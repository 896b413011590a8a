"""`peck`: the command line, a client of the public API."""
