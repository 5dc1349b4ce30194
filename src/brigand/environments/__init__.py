"""What the arms pay: reward distributions, stationary and piecewise stationary environments."""

from brigand.environments import continuous as continuous, discrete as discrete, environment as environment
