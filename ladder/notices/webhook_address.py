"""Checks the address of a webhook when a person saves it. Each call checks it again."""

from __future__ import annotations

import time
from typing import Final

from egress import guarded_connections
from egress.address import Address, AddressError, parse
from egress.guarded_connections import Forbidden, Rules
from ladder.errors import Invalid
from ladder.settings import Settings

SECONDS: Final = 3.0
"""Longest wait for DNS. An address whose DNS is late is saved, because each call checks it."""


def rules_of(settings: Settings) -> Rules:
    """The operator's rules for calls out. Raises ValueError, which names the variable."""
    return Rules.from_environment(
        {
            "PECK_EGRESS_ALLOW": settings.egress_allow,
            "PECK_EGRESS_DENY": settings.egress_deny,
            "PECK_EGRESS_PORTS": settings.egress_ports,
        }
    )


def check_address(url: str, rules: Rules) -> Address:
    """Parses an address and asks the guard about it. Raises Invalid with the remedy.

    Waits for DNS, so call it outside transactions.
    """
    try:
        address = parse(url.strip())
        guarded_connections.refuse_forbidden_address(address, rules, time.monotonic() + SECONDS)
    except AddressError as error:
        raise Invalid("address", error.message) from None
    except Forbidden as error:
        raise Invalid("address", str(error)) from None
    except TimeoutError:
        pass
    except OSError as error:
        raise Invalid("address", str(error)) from None
    return address
