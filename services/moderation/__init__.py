"""Moderation of a season by its hosts: disqualifications, rejudgements, suspects, the audit log."""
