"""The paper's bounds and the lower bounds as numbers, and what in the paper does not hold as stated."""

from brigand.theory.bound import Bound as Bound, Condition as Condition
from brigand.theory.catalogue import bounds as bounds
from brigand.theory.delays import delayed_bounds as delayed_bounds
from brigand.theory.lower import lower_bounds as lower_bounds
from brigand.theory.schedule import Schedule as Schedule
from brigand.theory.stuck import (
    StuckRuns as StuckRuns,
    exponential_cost as exponential_cost,
    stuck_runs as stuck_runs,
    time_below_zero as time_below_zero,
)
from brigand.theory.sub_gaussian import sub_gaussian as sub_gaussian
from brigand.theory.worst_case import worst_case_floor as worst_case_floor
