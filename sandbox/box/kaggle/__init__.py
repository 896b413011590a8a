"""A folder on the agent's import path, beside its profile's libraries. Holds one package."""
