"""What the tests expect of each policy, in one place: a new policy has an entry only where it differs."""

import math
from dataclasses import dataclass

import brigand as br
from brigand.testing.late import Unpaid


@dataclass(frozen=True)
class Expected:
    """What is expected of a policy with some settings; the defaults fit most.

    Attributes
    ----------
    settings : Policy, optional
        With which the code takes other ways than with the catalogue's; None for a name of the catalogue.
    regret : float
        The mean regret of `testing.check_learns` is less; random pulls cost 400. Bounds are at least 5
        standard errors above what was measured.
    learns : bool
        Whether rewards change what it does.
    knows_the_arms : bool
        It is an oracle: it must be told the environment, and needs no reward.
    needs_horizon : bool
        It says so where it is given none.
    rewards_needed : float
        See `testing.check_late_rewards`: without so many rewards, in 1000 steps, an arm has no index.
    unpaid : str
        See `testing.check_late_rewards`: what pulls an arm whose rewards are still to come besides
        `kernels.choices.needs_pull`, by the definition.
    often_unpaid : str
        Why an arm that never pays is pulled more often than O(log T), and is meant to; "": it is not.
    best_pulls : int
        The best arm has more pulls than these, of 1000, in `testing.check_late_rewards`.
    best_pulls_left : int
        The best of the arms that are left has at least these, of 1100, in `testing.check_absent_arms`:
        measured over 40 seeds. 300 is for those that sample about uniformly, at this horizon or always; a
        window of 1 or 2 makes a policy do so.
    scheduled : bool
        It pulls by a schedule, which begins in order of index: it has tests of ties of its own, and its
        schedule may stand one pull further for an arm.
    commits : bool
        It commits itself to an arm, or keeps away from some for long, also where no reward has come.
    prior : bool
        It begins with a prior, so that constant rewards may leave an arm without a pull.
    by_index_first : bool
        If it has an index, its first pulls are by that, too.
    order_matters : str
        Why its state depends on the order in which rewards arrive; "": it does not.
    rows_matter : str
        Why rows that are never candidates change decisions, though not the law for the arms that are there;
        "": they do not.
    for_losses : Policy, optional
        Other settings, with which it learns in the few steps of the tests of lost rewards.
    """

    settings: br.Policy | None = None
    regret: float = 20.0
    learns: bool = True
    knows_the_arms: bool = False
    needs_horizon: bool = False
    rewards_needed: float = 1.0
    unpaid: Unpaid = "due"
    often_unpaid: str = ""
    best_pulls: int = 800
    best_pulls_left: int = 900
    scheduled: bool = False
    commits: bool = False
    prior: bool = False
    by_index_first: bool = True
    order_matters: str = ""
    rows_matter: str = ""
    for_losses: br.Policy | None = None


# often_unpaid
WINDOW = "an arm that is absent from the window is pulled"
SCHEDULE = "every arm is pulled on a schedule"
CHANCE = "every arm has a chance at every step"
PRIOR = "an arm without a reward has its prior"
# order_matters
NUMBERED = "blocks or thresholds by the number of the reward, in order of arrival"
LAST = "so many of the last rewards are kept, in order of arrival"
BY_PLACE = "a history in order of arrival, from which is drawn by place"
ROUNDS = "a round begins with what has arrived by then"
HISTORY = f"a history in order of arrival, and {ROUNDS}"
CHANGES = "looks for a change in the sequence of arrivals"
LISTS = "at every arrival arms enter a list"
WEIGHTS = "at every arrival all weights are moved together"
# rows_matter
K_IN_RULE = "K is in the rule"
K_IN_TUNING = "K is in the tuning"
K_IN_RATES = "K is in the rates"
DRAWS = "random numbers"
TIES = "order of ties"
CLOCK = "its clock sees missed turns"

EXPECTED = {
    "FE-Exp": Expected(needs_horizon=True, scheduled=True),
    "FE-Linear": Expected(regret=40, often_unpaid=SCHEDULE, scheduled=True),
    "FE-Constant": Expected(regret=40, needs_horizon=True, often_unpaid=SCHEDULE, scheduled=True),
    "FE-Anytime": Expected(regret=40, scheduled=True, rows_matter=CLOCK),
    "FE-Trimmed": Expected(regret=40, scheduled=True, order_matters=LAST, rows_matter=CLOCK),
    "FE-Restart": Expected(regret=40, scheduled=True, order_matters=CHANGES),
    "SW-FE-Exp": Expected(
        regret=90, often_unpaid=WINDOW, best_pulls=700, best_pulls_left=850, scheduled=True
    ),
    "SW-FE-Linear": Expected(
        regret=90, often_unpaid=WINDOW, best_pulls=700, best_pulls_left=850, scheduled=True
    ),
    "SW-FE-Constant": Expected(regret=90, often_unpaid=WINDOW, scheduled=True),
    "UCB1": Expected(regret=40),
    "TS-Beta": Expected(unpaid="prior", often_unpaid=PRIOR, prior=True),
    "TS-Gaussian-unknown": Expected(regret=40, rewards_needed=5),
    "eps-greedy": Expected(regret=90, unpaid="random", often_unpaid=CHANCE),
    "eps-greedy-gap": Expected(
        regret=250, unpaid="random", often_unpaid=CHANCE, best_pulls=280, best_pulls_left=700
    ),
    "ETC": Expected(regret=40, scheduled=True, commits=True),
    "FB-ETC": Expected(regret=40, needs_horizon=True, scheduled=True, commits=True),
    "SPRT-ETC": Expected(needs_horizon=True, scheduled=True),
    "BAI-ETC": Expected(needs_horizon=True, scheduled=True),
    "UCB-V": Expected(regret=90),
    "MOSS": Expected(needs_horizon=True, rows_matter=K_IN_RULE),
    "MOSS-anytime": Expected(rows_matter=K_IN_RULE),
    "KL-UCB": Expected(rows_matter=TIES),
    "KL-UCB-Gaussian": Expected(rows_matter=TIES),
    "KL-UCB-exponential": Expected(regret=250, rows_matter=TIES),
    "KL-UCB-Poisson": Expected(rows_matter=TIES),
    "KL-UCB++": Expected(needs_horizon=True, rows_matter=K_IN_RULE),
    "Bayes-UCB": Expected(prior=True),
    "UCB-Normal": Expected(regret=90, rewards_needed=3),
    "DMED": Expected(scheduled=True, order_matters=LISTS),
    "Robust-UCB-truncated": Expected(
        regret=250,
        needs_horizon=True,
        best_pulls=500,
        best_pulls_left=700,
        order_matters=NUMBERED,
        for_losses=br.RobustUCB("truncated", u=0.7),
    ),
    "Robust-UCB-median": Expected(
        regret=250,
        needs_horizon=True,
        rewards_needed=2,
        best_pulls=280,
        best_pulls_left=700,
        order_matters=NUMBERED,
        for_losses=br.RobustUCB("median", v=0.02),
    ),
    "Robust-UCB-Catoni": Expected(
        regret=40,
        needs_horizon=True,
        rewards_needed=8 * math.log(1000),
        best_pulls=700,
        order_matters=NUMBERED,
        for_losses=br.RobustUCB("catoni", v=0.02),
    ),
    "EV-UCB": Expected(regret=90, needs_horizon=True, rewards_needed=2),
    "Lattimore": Expected(
        regret=math.inf,
        needs_horizon=True,
        unpaid="random",
        best_pulls=200,
        best_pulls_left=300,
        order_matters=NUMBERED,
        for_losses=br.Lattimore(3, 0.7),
    ),
    "Extended-Robust-UCB": Expected(
        regret=math.inf,
        needs_horizon=True,
        unpaid="random",
        best_pulls=200,
        best_pulls_left=300,
        order_matters=NUMBERED,
        for_losses=br.ExtendedRobustUCB(4, 2, 3, 0.04),
    ),
    "GIRO": Expected(needs_horizon=True, order_matters=BY_PLACE),
    "NPTS": Expected(needs_horizon=True, order_matters=BY_PLACE),
    "TS-Multinomial": Expected(unpaid="prior", often_unpaid=PRIOR, prior=True),
    "BESA": Expected(needs_horizon=True, order_matters=BY_PLACE),
    "WR-SDA": Expected(needs_horizon=True, order_matters=HISTORY, rows_matter=DRAWS),
    "RB-SDA": Expected(needs_horizon=True, order_matters=HISTORY, rows_matter=DRAWS),
    "LB-SDA": Expected(needs_horizon=True, order_matters=HISTORY, rows_matter=DRAWS),
    "LB-SDA-LM": Expected(order_matters=HISTORY, rows_matter=DRAWS),
    "SSMC": Expected(needs_horizon=True, order_matters=HISTORY, rows_matter=DRAWS),
    "SSTC": Expected(
        regret=250, needs_horizon=True, rewards_needed=2, order_matters=HISTORY, rows_matter=DRAWS
    ),
    "SW-LB-SDA": Expected(
        regret=90,
        unpaid="schedule",
        often_unpaid=WINDOW,
        order_matters=ROUNDS,
        rows_matter=DRAWS,
        for_losses=br.SlidingWindowLBSDA(50),
    ),
    "D-UCB": Expected(regret=250, best_pulls=500, best_pulls_left=700),
    "SW-UCB": Expected(regret=90, often_unpaid=WINDOW, for_losses=br.SlidingWindowUCB(window=50)),
    "SW-KL-UCB": Expected(
        regret=90,
        unpaid="random",
        often_unpaid=WINDOW,
        rows_matter=TIES,
        for_losses=br.SlidingWindowKLUCB(50),
    ),
    "D-TS": Expected(regret=90, often_unpaid=PRIOR, prior=True),
    "SW-TS": Expected(regret=40, often_unpaid=WINDOW, prior=True, for_losses=br.SlidingWindowThompson(50)),
    "SW-TS-Gaussian": Expected(
        regret=40, often_unpaid=WINDOW, for_losses=br.SlidingWindowThompsonGaussian(50, 0.5)
    ),
    "CUSUM-UCB": Expected(
        regret=90, needs_horizon=True, unpaid="random", often_unpaid=SCHEDULE, order_matters=CHANGES
    ),
    "PHT-UCB": Expected(
        regret=90, needs_horizon=True, unpaid="random", often_unpaid=SCHEDULE, order_matters=CHANGES
    ),
    "M-UCB": Expected(
        regret=90, unpaid="schedule", often_unpaid=SCHEDULE, scheduled=True, order_matters=CHANGES
    ),
    "GLR-klUCB-local": Expected(
        needs_horizon=True,
        unpaid="schedule",
        often_unpaid=SCHEDULE,
        order_matters=CHANGES,
        rows_matter=K_IN_TUNING,
    ),
    "GLR-klUCB-global": Expected(
        needs_horizon=True,
        unpaid="schedule",
        often_unpaid=SCHEDULE,
        order_matters=CHANGES,
        rows_matter=K_IN_TUNING,
    ),
    "AdSwitch": Expected(
        regret=math.inf,
        needs_horizon=True,
        unpaid="prior",
        often_unpaid=CHANCE,
        best_pulls=200,
        best_pulls_left=300,
        scheduled=True,
        order_matters=CHANGES,
        rows_matter=K_IN_RATES,
    ),
    "Ada-ILTCB+": Expected(
        regret=math.inf,
        needs_horizon=True,
        unpaid="random",
        often_unpaid=CHANCE,
        best_pulls=280,
        best_pulls_left=300,
        order_matters=CHANGES,
        rows_matter=K_IN_RATES,
    ),
    "RAW-UCB": Expected(needs_horizon=True, order_matters=BY_PLACE),
    "FEWA": Expected(needs_horizon=True, order_matters=BY_PLACE),
    "EXP3": Expected(
        regret=90,
        needs_horizon=True,
        unpaid="random",
        often_unpaid=CHANCE,
        best_pulls=700,
        rows_matter=K_IN_TUNING,
    ),
    "EXP3.S": Expected(
        regret=90,
        needs_horizon=True,
        unpaid="random",
        often_unpaid=CHANCE,
        best_pulls=700,
        best_pulls_left=850,
        order_matters=WEIGHTS,
        rows_matter=K_IN_TUNING,
    ),
    "Tsallis-INF": Expected(
        unpaid="random",
        often_unpaid=CHANCE,
        best_pulls=700,
        best_pulls_left=700,
        commits=True,
    ),
    "Tsallis-INF-IW": Expected(
        regret=40,
        unpaid="random",
        often_unpaid=CHANCE,
        best_pulls=700,
        best_pulls_left=700,
        commits=True,
    ),
    "Random": Expected(learns=False, regret=math.inf, unpaid="random", best_pulls=200, best_pulls_left=300),
    "Oracle": Expected(knows_the_arms=True),
    # Settings with which the code takes other ways than with those of the catalogue.
    "AdSwitch, quick": Expected(
        br.AdSwitch(0.2, 10, 0.05),
        unpaid="prior",
        best_pulls=200,
        best_pulls_left=430,
        scheduled=True,
        rows_matter=K_IN_RATES,
    ),
    "Ada-ILTCB+, quick": Expected(
        br.AdaILTCB(0.2, 0.1, 0.3),
        unpaid="random",
        best_pulls=280,
        best_pulls_left=430,
        rows_matter=K_IN_RATES,
    ),
    "BESA, n0 = 2": Expected(br.BESA(2), rewards_needed=2),
    "CUSUM-UCB, forced": Expected(br.CUSUMUCB(0.1, 3.0, M=10, forced=True), unpaid="random"),
    "D-UCB, gamma = 1": Expected(br.DiscountedUCB(1)),
    "EV-UCB, the authors'": Expected(br.EmpiricalVarianceUCB(initial_pulls=1, c=0), by_index_first=False),
    "Extended-Robust-UCB, finite": Expected(
        br.ExtendedRobustUCB(3, 1.5, 2, 0.01), rewards_needed=57, unpaid="random", best_pulls=700
    ),
    "GIRO, a = 1/3": Expected(br.GIRO(1 / 3)),
    "GLR-klUCB, no test": Expected(br.GLRKLUCB(delta=0.0, omega=0.0), unpaid="schedule"),
    "GLR-klUCB, quick": Expected(br.GLRKLUCB(delta=0.5, omega=0.2, every=3, spacing=4), unpaid="schedule"),
    "KL-UCB, c = 3": Expected(br.KLUCB(c=3), rows_matter=TIES),
    "KL-UCB++, Gaussian": Expected(br.KLUCBPlusPlus("gaussian"), rows_matter=K_IN_RULE),
    "KL-UCB++, exponential": Expected(br.KLUCBPlusPlus("exponential"), rows_matter=K_IN_RULE),
    "KL-UCB++, Poisson": Expected(br.KLUCBPlusPlus("poisson"), rows_matter=K_IN_RULE),
    "LB-SDA, forced": Expected(br.LBSDA("sqrt_log"), rows_matter=DRAWS),
    "LB-SDA-LM, all": Expected(br.LBSDALM(math.inf, forced="none"), rows_matter=DRAWS),
    "Lattimore, finite": Expected(br.Lattimore(3, 0.5), rewards_needed=15, unpaid="random"),
    "M-UCB, quick": Expected(
        br.MUCB(20, 4.0, 0.3), unpaid="schedule", best_pulls=700, best_pulls_left=700, scheduled=True
    ),
    "M-UCB, all forced": Expected(
        br.MUCB(8, 2.0, 1.0), unpaid="schedule", best_pulls=200, best_pulls_left=300, scheduled=True
    ),
    "M-UCB, tuned": Expected(br.MUCB(None, changes=0, least_change=0.9), unpaid="schedule", scheduled=True),
    "PHT-UCB, quick": Expected(br.PHTUCB(0.05, 2.0), unpaid="random"),
    "RB-SDA, forced": Expected(br.RBSDA("cbrt_log"), rows_matter=DRAWS),
    "Robust-UCB-median, 1.5": Expected(
        br.RobustUCB("median", 0.5, v=0.05), rewards_needed=2, best_pulls=500, best_pulls_left=850
    ),
    "Robust-UCB-truncated, 1.5": Expected(
        br.RobustUCB("truncated", 0.5, u=0.7), best_pulls=500, best_pulls_left=700
    ),
    "SW-KL-UCB, Gaussian": Expected(
        br.SlidingWindowKLUCB(50, "gaussian", 1),
        unpaid="random",
        best_pulls=500,
        best_pulls_left=600,
        rows_matter=TIES,
    ),
    "SW-KL-UCB, exponential": Expected(
        br.SlidingWindowKLUCB(50, "exponential", 1),
        unpaid="random",
        best_pulls=500,
        best_pulls_left=700,
        rows_matter=TIES,
    ),
    "SW-KL-UCB, Poisson": Expected(
        br.SlidingWindowKLUCB(50, "poisson", 1),
        unpaid="random",
        best_pulls=500,
        best_pulls_left=600,
        rows_matter=TIES,
    ),
    "SW-KL-UCB, 1": Expected(
        br.SlidingWindowKLUCB(1), unpaid="random", best_pulls=200, best_pulls_left=300, rows_matter=TIES
    ),
    "SW-KL-UCB, 7": Expected(
        br.SlidingWindowKLUCB(7), unpaid="random", best_pulls=500, best_pulls_left=600, rows_matter=TIES
    ),
    "SW-LB-SDA, 1": Expected(
        br.SlidingWindowLBSDA(1), unpaid="schedule", best_pulls=200, best_pulls_left=300, rows_matter=DRAWS
    ),
    "SW-LB-SDA, 2": Expected(
        br.SlidingWindowLBSDA(2), unpaid="schedule", best_pulls=200, best_pulls_left=300, rows_matter=DRAWS
    ),
    "TS-Multinomial, 1": Expected(br.MultinomialTS(1), unpaid="prior", prior=True),
    "UCB-Normal, 5": Expected(br.UCBNormal(5), rewards_needed=5),
}
OTHERS = {name: entry.settings for name, entry in EXPECTED.items() if entry.settings is not None}
SETTINGS = br.CATALOGUE | OTHERS


def expected(name: str) -> Expected:
    """Return what is expected of the settings of that name."""
    return EXPECTED.get(name, Expected())
