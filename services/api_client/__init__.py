"""A client of the public API, used by `peck` and the tests.

    with Client("http://127.0.0.1:8000", token="peck_...") as ladder:
        agent = ladder.create_agent("Flood")
        ladder.upload(agent["id"], Path("main.py"), season="geese")

Returns the API's JSON as dictionaries. Raises ApiError with the service's message.
"""

from __future__ import annotations

from services.api_client.agents import Agents
from services.api_client.connection import ApiError, Connection, Json, Unreachable, tls_context
from services.api_client.leagues import Leagues
from services.api_client.matches import Matches
from services.api_client.people import People

__all__ = ["ApiError", "Client", "Connection", "Json", "Unreachable", "tls_context"]


class Client(People, Leagues, Agents, Matches):
    """One connection to a ladder service. Close it, or use it in ``with``."""
