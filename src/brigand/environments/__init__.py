"""What the arms pay: reward distributions, stationary and piecewise stationary environments."""

from brigand.environments import distributions as distributions, environment as environment
