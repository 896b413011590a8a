"""Machines that join with a code: invitations, credentials, drain and revocation."""
