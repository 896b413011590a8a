"""Leagues and seasons: what people do with them."""
