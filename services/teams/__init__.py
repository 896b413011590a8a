"""Teams: their operations, pages and forms."""
