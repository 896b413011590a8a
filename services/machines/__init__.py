"""Machines that join and play matches: operations, the page of administrators, and blobs."""
