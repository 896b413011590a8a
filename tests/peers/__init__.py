"""Second implementations of rules, written from the rule books alone, for the tests to compare."""
