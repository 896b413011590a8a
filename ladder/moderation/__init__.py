"""What hosts do when a season went wrong: disqualify (``exclusions``), judge again (``rejudging``).

``suspects`` finds the results that fit a host's predicate.
"""
