"""The clock of the house: one leader, one loop, a named repair per function of ``rounds``."""
