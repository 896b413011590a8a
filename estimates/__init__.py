"""Intervals and the comparison of two versions: arithmetic. Imports none of ours."""
