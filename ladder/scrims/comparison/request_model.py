"""The request for a comparison, as API and form send it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from estimates.comparison import (
    LEAST_MARGIN,
    MARGIN,
    MOST_MARGIN,
    MOST_PAIRS,
    MOST_VARIANTS,
    Rule,
    RuleError,
    default_pairs,
)
from ladder.errors import Invalid
from ladder.field_types import Key
from ladder.scrims.comparison.comparisons import MOST_OPPONENTS


class NewComparison(BaseModel):
    """Two versions to compare, and what decides."""

    model_config = ConfigDict(extra="forbid")
    old: Annotated[
        Key, Field(description="a submission id, or an agent id for its newest active entry")
    ]
    new: Annotated[Key, Field(description="the same")]
    opponents: Annotated[
        list[Key],
        Field(
            default_factory=list,
            max_length=MOST_OPPONENTS,
            description="submission or agent ids; default: the old version",
        ),
    ]
    margin: Annotated[float, Field(ge=LEAST_MARGIN, le=MOST_MARGIN)] = MARGIN
    pairs: Annotated[
        int | None, Field(ge=1, le=MOST_PAIRS, description="default: 15 / margin squared")
    ] = None
    variants: Annotated[
        int, Field(ge=1, le=MOST_VARIANTS, description="variants that you try in this series")
    ] = 1
    team: Annotated[Key | None, Field(description="required if you are in several teams")] = None

    @property
    def rule(self) -> Rule:
        """What decides the comparison. Raises Invalid for more pairs than are allowed."""
        pairs = default_pairs(self.margin) if self.pairs is None else self.pairs
        try:
            return Rule(self.margin, pairs, self.variants)
        except RuleError as error:
            raise Invalid(error.field, error.message) from None
