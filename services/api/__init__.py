"""The HTTP API: one router for each resource. ``services.http.auth`` reads the token.
``services.http.permissions`` checks what its owner may see."""
