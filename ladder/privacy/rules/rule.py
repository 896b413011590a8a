"""What one table holds about a person, and what becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

AGENTS: Final = "select id from agents where team_id = any (%(teams)s)"
"""SQL: agents of the person's teams. Export: all teams; erasing: teams without other members."""
OWN_SEATS: Final = (
    f"agent_id in ({AGENTS} or team_id in ("
    "select merged_into from teams where id = any (%(teams)s))) and team_id = any (%(teams)s)"
)
"""SQL: seats in which these teams played. An agent that came by a merge keeps its old seats, which
belong to the team that it played for. The agents are named for the index."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of one table; a table may have several. Conditions are SQL about the row ``x``.

    They may use these values. ``user`` is the person's id. ``teams`` are the teams that end with
    the account, in an export all teams. ``left`` are the teams that other members keep. ``leagues``
    are the leagues that end with the account. ``near`` are all leagues that it took part in.
    """

    table: str
    about: str = ""
    """What the rows are, for the person. Empty: the table holds nothing about people."""
    stays: str = ""
    """How long the rows stay while the account lives, for the person."""
    mine: str = ""
    """Condition of the rows that belong to a person. Empty: none."""
    exported: str | None = None
    """Condition of the rows in the export, if it is not ``mine``. Empty: none."""
    deleted: bool = False
    """Whether the person's rows are deleted. All columns are then covered."""
    erased: Mapping[str, str] = field(default_factory=dict)
    """New values in the person's rows, as SQL, by column."""
    named: tuple[str, ...] = ()
    """Columns in rows of others in which the person's name is replaced."""
    named_where: str = "true"
    """Condition of these rows."""
    words: tuple[str, ...] = ()
    """Columns of the person's rows whose values name the person, as a mail address does."""
    secret: tuple[str, ...] = ()
    """Columns that no export holds: hashes, secrets, and the true course of a tournament."""
    impersonal: str = ""
    """Columns without personal data, with spaces between: ids, states, digests, our own texts."""
    is_large: bool = False
    """Whether the scheduler erases the rows later, because there may be very many."""

    @property
    def covered(self) -> frozenset[str]:
        """The columns that this rule covers by name."""
        return frozenset((*self.erased, *self.named, *self.secret, *self.impersonal.split()))

    @property
    def effect(self) -> str:
        """What a deletion does with the person's rows, for the person."""
        if self.deleted:
            return "deleted"
        if "name" in self.erased or "title" in self.erased:
            return "renamed to a pseudonym"
        return "texts and files deleted, results stay" if self.erased else "stays, without a name"
