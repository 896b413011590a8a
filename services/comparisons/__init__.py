"""Comparisons of two versions: their operations, their report, pages and forms."""
