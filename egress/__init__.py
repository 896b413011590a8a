"""Guards every outbound call to an address that a person gave.

``address`` parses the URL. ``guarded_connections`` checks each address of the host and connects.
``http_calls`` makes one bounded HTTP request through them. ``address`` lists the networks that are
not public. ``TlsSocket`` bounds every wait of a TLS connection.

Uses the standard library only, since a caller of a remote agent has nothing else.
"""
