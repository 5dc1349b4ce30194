"""Upper confidence bounds for stationary rewards."""
