"""All tests. Imports the command line first: it leaves out what httpx would import for its own."""

import services.cli  # noqa: F401
