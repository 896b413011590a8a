"""Notices: what a person is told, where it goes, and private feeds."""
