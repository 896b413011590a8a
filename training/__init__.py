"""Scripts that train the reference agents which learn; they need torch, the service does not."""
