"""The folder on an agent's import path beside its profile's libraries; holds one package."""
