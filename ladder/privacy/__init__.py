"""Exports and erases what the service stores about a person."""
