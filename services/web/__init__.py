"""The pages, rendered on the server. They call the same functions of ``ladder`` as the API."""
