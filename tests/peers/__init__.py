"""Second implementations of game rules, written from the rule books alone, for comparison."""
