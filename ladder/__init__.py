"""The contest: people, leagues, entries, matches, ratings, standings. Knows no web and no sandbox.

A package for each domain; each imports only those below it (``pyproject.toml`` has the order):

::

    scheduling   which matches are made now
    reports      insights, feed, alarms of a season
    moderation   disqualify, judge again
    scrims       unrated games by request
    standings    the leaderboard
    ratings      live ratings, official standings, sealed medals
    entries      agents, submissions, entries, validation
    matches      the queue, the lease, the pairing
    leagues      leagues, seasons, members, medals
    people       users, teams, tokens, permissions, quotas, audit log
    database     connections, migrations, blobs, idempotency

A use case is one function that takes a connection. ``*.sql`` files beside the modules hold the
functions that run inside Postgres.
"""
