"""Scrims: unrated games that a team asks for. ``scrims.request`` makes one with its matches."""
