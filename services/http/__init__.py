"""Code shared by API and pages: errors, authentication, permissions and uploads."""
