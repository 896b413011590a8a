"""Checks at the start of the site that each identity provider names itself as the operator did."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

from ladder.people.identity_providers import SETTING, IdentityProvider
from ladder.people.identity_visits import ProviderClient, ProviderError
from ladder.telemetry import log_event

WAIT_SECONDS: Final = 5.0
"""Longest time by which providers delay the start of the site."""


def check_issuers(clients: Collection[ProviderClient]) -> None:
    """Asks all OpenID providers at once for their metadata.

    Raises ValueError, with both values, for a provider that names another issuer: nobody could sign
    in. One that gives no metadata is logged, because it may do so later.
    """
    issuers = [client for client in clients if client.provider.kind == "openid"]
    if not issuers:
        return
    threads = ThreadPoolExecutor(len(issuers), thread_name_prefix="providers")
    answers = {threads.submit(client.read_metadata): client.provider for client in issuers}
    done, late = wait(answers, WAIT_SECONDS)
    threads.shutdown(wait=False)
    for answer in late:
        _log_problem(answers[answer], f"no answer within {WAIT_SECONDS:.0f} s")
    for answer in done:
        provider = answers[answer]
        try:
            named = answer.result().issuer[:300]
        except ProviderError as error:
            _log_problem(provider, error.message)
            continue
        if named != provider.issuer:
            raise ValueError(
                f"{SETTING}: provider {provider.key}, issuer: write {named!r}, as in the provider's"
                f" metadata, and not {provider.issuer!r}"
            )


def _log_problem(provider: IdentityProvider, problem: str) -> None:
    log_event("identity_provider_unchecked", level="warning", key=provider.key, problem=problem)
