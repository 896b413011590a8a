"""The HTTP API, a router for each resource. ``services.http.auth`` says who asks,
``services.http.permissions`` what they may see."""
