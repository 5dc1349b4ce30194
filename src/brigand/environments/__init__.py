"""What the arms pay: reward distributions, stationary and piecewise stationary environments."""
