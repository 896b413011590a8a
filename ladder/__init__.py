"""The contest: people, leagues, entries, matches, ratings, standings. No web, no sandbox.

There is one package for each domain. Each imports only packages below it (see ``pyproject.toml``):

- ``scheduling``: which matches are created now
- ``reports``: insights, feed, season alarms
- ``moderation``: disqualification, rejudgements
- ``scrims``: unrated games on request
- ``standings``: the leaderboard
- ``ratings``: live ratings, official standings, sealed medals
- ``entries``: agents, submissions, entries, validation
- ``matches``: the queue, the lease, the pairing
- ``leagues``: leagues, seasons, members, medals
- ``people``: users, teams, tokens, permissions, quotas, audit log
- ``database``: connections, migrations, blobs, idempotency

A use case is one function that takes a connection. The ``*.sql`` files beside the modules hold the
functions that run inside Postgres.
"""
