"""Members of a league: invitations, requests to join, terms, roles, blocks."""
