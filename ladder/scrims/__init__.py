"""Scrims: unrated games that a team requests. ``scrims.request_scrim`` creates one."""
