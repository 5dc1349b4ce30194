"""Upper confidence bounds for rewards with heavy tails, or with an unknown scale."""
