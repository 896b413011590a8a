"""What API and pages share: problems, who asks, what they may see, and how bodies arrive."""
