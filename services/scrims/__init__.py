"""Scrims, requests for scrims, batches, policies and forks: their operations, pages and forms."""
