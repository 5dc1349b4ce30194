"""`brigand.testing`: good policies pass; each bad one fails the check that is meant for it, and hears why."""

import inspect
import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from numba.extending import overload

import brigand as br
import own_policy
from brigand import testing
from brigand.policies.ucb import ucb1
from strength import some

# It pulls an arm that has no reward for ever, breaks ties by order, and takes the logarithm of 0 if K = 1.
FAULTS = ["late_rewards", "without_rewards", "ties", "small_problems"]
ALL_CHECKS = {
    "UCB1": (br.UCB1(0, 1), {"regret": 40}),
    "a user's, with its faults": (own_policy.AuthorsUCB1(), {"skip": FAULTS}),
}
NO_CACHE = {
    "FE with a window": (br.ForcedExploration(br.Linear(), window=200), {"best_pulls": 700}),
    "another range": (br.KLUCB(low=-3, high=7), {"regret": 20}),
    "rewards from 0 on": (br.KLUCB("exponential"), {}),
    "a prior": (br.ThompsonBeta(low=2, high=3), {"unpaid": "prior", "every_arm": False}),
    "chance": (br.EXP3(), {"unpaid": "random"}),
    "a schedule": (br.MUCB(50, b=12.0, gamma=0.1), {"unpaid": "schedule", "slack": 1.0}),
    "several rewards needed": (br.ThompsonGaussian(), {"rewards_needed": 5}),
}


@pytest.mark.full
@pytest.mark.parametrize("name", ALL_CHECKS)
def test_good_policies_pass(name):
    policy, options = ALL_CHECKS[name]
    testing.check_policy(policy, **options)


@pytest.mark.parametrize("name", some(NO_CACHE, ("a prior",)))
def test_good_policies_of_every_kind_pass_what_takes_one_process(name):
    policy, options = NO_CACHE[name]
    testing.check_policy(policy, skip=["cache"], **options)


def test_an_oracle_passes_though_it_must_know_the_arms():
    skip = ["cache", "late_rewards", "without_rewards"]
    testing.check_policy(br.oracle(), skip=skip, every_arm=False, regret=1e-9)


def select_and_count(parameters, header, arms, memory, candidates, rng):
    arms[candidates[0]]["pulls"] += 1
    return ucb1.select(parameters, header, arms, memory, candidates, rng)


@dataclass(frozen=True)
class Counting(br.UCB1):
    """Moves a clock in select."""

    kernels = br.UCB1.kernels._replace(select=select_and_count)


def estimate_and_forget(parameters, header, arms, memory, arm):
    arms[arm]["mean"] = 0.0
    return 0.0, 1.0


@dataclass(frozen=True)
class Forgetting(br.UCB1):
    """Forgets when it is asked what it knows."""

    kernels = br.UCB1.kernels._replace(estimate=estimate_and_forget)


def estimate_alone(parameters, header, arms, memory, arm):
    return arms[arm]["mean"]


@dataclass(frozen=True)
class Terse(br.UCB1):
    """Does not say of how many rewards its estimate is."""

    kernels = br.UCB1.kernels._replace(estimate=estimate_alone)


def select_among_all(parameters, header, arms, memory, candidates, rng):
    return ucb1.select(parameters, header, arms, memory, np.arange(len(arms)), rng)


@dataclass(frozen=True)
class Outside(br.UCB1):
    """Does not look at the candidates."""

    kernels = br.UCB1.kernels._replace(select=select_among_all)


def select_always_0(parameters, header, arms, memory, candidates, rng):
    return candidates[0]


@dataclass(frozen=True)
class Stuck(br.UCB1):
    """Chooses the first candidate."""

    kernels = br.UCB1.kernels._replace(select=select_always_0)


def which() -> int:
    return 0


@overload(which)
def compiled_which():
    return lambda: 1


def select_otherwise(parameters, header, arms, memory, candidates, rng):
    arm = ucb1.select(parameters, header, arms, memory, candidates, rng)
    return candidates[0] if which() == 1 and rng.random() < 0.3 else arm


@dataclass(frozen=True)
class Otherwise(br.UCB1):
    """Compiled, it is another policy."""

    kernels = br.UCB1.kernels._replace(select=select_otherwise)


class ScaledParameters(NamedTuple):
    width: float


class Lossy(br.UCB1):
    """No dataclass of its own: `scale` is no field, so that its JSON form does not have it."""

    def __init__(self, low=None, high=None, sigma=None, scale=1.0):
        super().__init__(low, high, sigma)
        self._keep(scale=scale)

    def parameters(self, n_arms, horizon):
        return ScaledParameters(self.scale)


@dataclass(frozen=True)
class Unreadable(br.UCB1):
    """A field that cannot be given back."""

    scale: float = field(default=2.0, init=False)


def learn_last(parameters, header, arms, memory, arm, reward, step):
    ucb1.learn(parameters, header, arms, memory, header["last"], reward, step)


def pull_last(parameters, header, arms, memory, arm):
    ucb1.pull(parameters, header, arms, memory, arm)
    header["last"] = arm


@dataclass(frozen=True)
class Impatient(br.UCB1):
    """Gives a reward to the last arm pulled, not to its own."""

    kernels = br.UCB1.kernels._replace(pull=pull_last, learn=learn_last)
    header = br.record(step=0, root_log=0.0, last=0)


def learn_once(parameters, header, arms, memory, arm, reward, step):
    if step == header["step"]:
        ucb1.learn(parameters, header, arms, memory, arm, reward, step)


@dataclass(frozen=True)
class Deaf(br.UCB1):
    """Forgets what comes late."""

    kernels = br.UCB1.kernels._replace(learn=learn_once)


HIDDEN: list[int] = []


def select_by_hidden_count(parameters, header, arms, memory, candidates, rng):
    HIDDEN.append(0)
    if len(HIDDEN) % 7 == 0:
        return candidates[len(HIDDEN) % len(candidates)]
    return ucb1.select(parameters, header, arms, memory, candidates, rng)


@dataclass(frozen=True)
class Hidden(br.UCB1):
    """Keeps a count outside of its tables."""

    kernels = br.UCB1.kernels._replace(select=select_by_hidden_count)


SHARED = np.repeat(br.record(x=0.0), 3)


def pull_shared(parameters, header, arms, memory, arm):
    ucb1.pull(parameters, header, arms, memory, arm)
    memory[0]["x"] += 1.0


@dataclass(frozen=True)
class Shared(br.UCB1):
    """Hands out one memory to all runs."""

    kernels = br.UCB1.kernels._replace(pull=pull_shared)

    def memory(self, n_arms, horizon):
        return SHARED


@dataclass(frozen=True)
class Narrow(br.UCB1):
    """Has a field of 32 bits."""

    header: ClassVar = np.array([(0, 0.0)], [("step", "i4"), ("root_log", "f8")])


@dataclass(frozen=True)
class NumPyNumber(br.UCB1):
    """Has a parameter that is no float."""

    def parameters(self, n_arms, horizon):
        return ScaledParameters(np.float32(1))


class UCB1Parameters(NamedTuple):
    width: float


@dataclass(frozen=True)
class SameName(br.UCB1):
    """Calls its parameters as UCB1 does."""

    def parameters(self, n_arms, horizon):
        return UCB1Parameters(1.0)


@dataclass(frozen=True)
class NeedsHorizon(br.UCB1):
    """Without a horizon it breaks, and does not say why."""

    def parameters(self, n_arms, horizon):
        return ScaledParameters(math.log(horizon))


@dataclass(frozen=True)
class Wordless(br.UCB1):
    """Does not say what must be known."""

    @property
    def must_know(self):
        return ""


class Hearsay(br.UCB1):
    """Is known in a way that is none."""

    known_from = "hearsay"


def index(parameters, header, arms, memory, arm, rng):
    if arms[arm]["count"] < 2:
        return math.nan
    return ucb1.index(parameters, header, arms, memory, arm, rng)


def select_by_index(parameters, header, arms, memory, candidates, rng):
    return br.policies.kernels.choices.argmax(index, parameters, header, arms, memory, candidates, rng)


@dataclass(frozen=True)
class Unknown(br.UCB1):
    """Its index is NaN as long as an arm has one reward."""

    kernels = br.UCB1.kernels._replace(select=select_by_index)


def select_first_of_equals(parameters, header, arms, memory, candidates, rng):
    best = candidates[0]
    for i in range(1, len(candidates)):
        here = ucb1.index(parameters, header, arms, memory, candidates[i], rng)
        if here > ucb1.index(parameters, header, arms, memory, best, rng):
            best = candidates[i]
    return best


@dataclass(frozen=True)
class FirstOfEquals(br.UCB1):
    """Breaks ties by order."""

    kernels = br.UCB1.kernels._replace(select=select_first_of_equals)


INITIAL = {name: br.UCB1.arm[name].item() for name in br.UCB1.arm.dtype.names}


def learn_squares(parameters, header, arms, memory, arm, reward, step):
    ucb1.learn(parameters, header, arms, memory, arm, reward, step)
    arms[arm]["squares"] += reward * reward
    arms[arm]["variance"] = arms[arm]["squares"] / arms[arm]["count"] - arms[arm]["mean"] ** 2


@dataclass(frozen=True)
class Overflowing(br.UCB1):
    """Squares rewards that may be huge."""

    kernels = br.UCB1.kernels._replace(learn=learn_squares)
    arm = br.record(
        **{name: br.UCB1.arm[name].item() for name in br.UCB1.arm.dtype.names}, squares=0.0, variance=0.0
    )


@dataclass(frozen=True)
class Undemanding(br.ThompsonBeta):
    """Does not refuse what it cannot work with."""

    def check_rewards(self, low, high, source):
        pass


@dataclass(frozen=True)
class TwoTypes(br.UCB1):
    """Its parameter is an int or a float."""

    def parameters(self, n_arms, horizon):
        return ScaledParameters(1.0 if horizon == 400 else 1)


@dataclass(frozen=True)
class NeedsSteps(br.UCB1):
    """Works only where there are more steps than arms."""

    def parameters(self, n_arms, horizon):
        return ScaledParameters(1.0 / (horizon - n_arms))


def select_last_if_equal(parameters, header, arms, memory, candidates, rng):
    if header["step"] < 100:
        return candidates[-1]
    return ucb1.select(parameters, header, arms, memory, candidates, rng)


@dataclass(frozen=True)
class Partial(br.UCB1):
    """Prefers the last arm for a while."""

    kernels = br.UCB1.kernels._replace(select=select_last_if_equal)


BAD = [
    (Counting(), "select", "select changed the table 'arms' at step 1"),
    (Forgetting(), "select", "estimate changed the table 'arms' at step 1"),
    (Terse(), "select", r"estimate returned .*, which is no pair of floats"),
    (Outside(), "select", r"select chose arm \d at step \d, where only \[.*\] may be chosen"),
    (Stuck(), "select", r"of 4 arms only \[0, 1\] were chosen"),
    (Otherwise(), "compiled", r"at step \d+ of the 0/1 rewards compiled code pulls arm \d, and plain Python"),
    (Lossy(scale=2.0), "json", "other parameters; is every setting a field"),
    (Unreadable(), "json", "no .*Unreadable can be made of"),
    (Impatient(), "late_rewards", r"it holds \[.*\] rewards of the arms, not \["),
    (Deaf(), "late_rewards", r"it holds \[.*\] rewards of the arms, not \["),
    (
        own_policy.AuthorsUCB1(),
        "late_rewards",
        r"never come was pulled 9\d\d times of 1000, where 9 ",
    ),
    (own_policy.AuthorsUCB1(), "without_rewards", r"pulled \[2000, 0, 0, 0\] times: break ties at random"),
    (Hidden(), "restored_state", "kept elsewhere than in the tables"),
    (Shared(), "tables", "a run changes the state that the next one starts from"),
    (Narrow(), "tables", r"header\['step'\] is <i4, neither int64 nor float64"),
    (NumPyNumber(), "parameters", "parameter 'width' must be an int or a float"),
    (SameName(), "parameters", "the parameters of UCB1 are called UCB1Parameters, too"),
    (NeedsHorizon(), "parameters", "TypeError"),
    (Wordless(), "description", "must_know must be a text, not ''"),
    (Hearsay(), "description", r"known_from must be one of \['published', .*\], not 'hearsay'"),
    (Unknown(), "index", "the index of arm 0 is NaN at step 1"),
    (FirstOfEquals(), "ties", r"took each \[.*\] times in 2000 runs: break ties at random"),
    (Overflowing(), "constant_rewards", r"after 200 rewards of 1e\+300 arms\['variance'\] became NaN"),
    (Undemanding(), "constant_rewards", "rewards from -5 to -5 are not refused"),
    (TwoTypes(), "compiled_once", "other numbers are compiled anew"),
    (NeedsSteps(), "small_problems", "T = 1, K = 1, plain Python: ZeroDivisionError"),
    (Partial(), "permutation", r"when the arms are permuted mean pulls differ by \["),
    (br.UniformRandom(), "learns", "a mean regret of (39|40).*; less than 250 is wanted"),
]


@pytest.mark.every(6)
@pytest.mark.parametrize(("policy", "name", "why"), BAD, ids=[f"{type(p).__name__}-{n}" for p, n, _ in BAD])
def test_a_bad_policy_fails_its_check_with_the_reason(policy, name, why):
    with pytest.raises(AssertionError, match=why) as caught:
        testing.CHECKS[name](policy)
    assert str(caught.value).startswith(f"{policy!r} fails check_{name}: ")


def test_the_best_arm_must_be_found_with_late_rewards():
    with pytest.raises(AssertionError, match=r"the best arm was pulled 2\d\d times of 1000; more than 400"):
        testing.check_late_rewards(br.UniformRandom(), unpaid="any")


@pytest.mark.every(3)
@pytest.mark.parametrize("policy", [Counting(), Outside(), Lossy(scale=2.0), Impatient(), Hidden()], ids=repr)
def test_check_policy_fails_with_the_check_that_fails_alone(policy):
    name = next(name for bad, name, _ in BAD if type(bad) is type(policy))
    with pytest.raises(AssertionError, match=f"fails check_{name}: "):
        testing.check_policy(policy)


@pytest.mark.full
def test_check_policy_finds_what_only_compiled_code_does():
    with pytest.raises(AssertionError, match=r"Otherwise.* fails check_compiled: "):
        testing.check_policy(Otherwise(), skip=["cache"])


def test_all_failures_are_told_at_once_and_can_be_left_out():
    policy = own_policy.AuthorsUCB1()
    with pytest.raises(AssertionError) as caught:
        testing.check_policy(policy)
    told = str(caught.value).splitlines()
    assert [line.split(" fails ")[1].split(":")[0] for line in told] == [
        "check_late_rewards",
        "check_without_rewards",
    ]
    testing.check_policy(policy, skip=[name for name in testing.CHECKS if name != "json"])
    testing.check_policy(policy, skip=set(testing.CHECKS))


def test_the_error_of_a_kernel_is_the_cause():
    with pytest.raises(AssertionError) as caught:
        testing.check_small_problems(NeedsSteps())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_mistakes_of_the_caller_are_no_failures_of_the_policy():
    with pytest.raises(br.InvalidValueError, match="check_policy takes a policy such as"):
        testing.check_policy(br.UCB1)
    with pytest.raises(br.InvalidValueError, match="check_json takes a policy such as"):
        testing.check_json("UCB1")
    with pytest.raises(br.UnknownNameError, match=r"unknown check 'jsn'. Did you mean 'json'"):
        testing.check_policy(br.UCB1(), skip=["jsn"])
    with pytest.raises(br.UnknownNameError, match=r"unknown value of unpaid 'dew'. Did you mean 'due'"):
        testing.check_late_rewards(br.UCB1(), unpaid="dew")


def test_every_check_is_there_by_name_and_documented():
    names = {name for name in testing.__all__ if name.startswith("check_")}
    optional = {"check_policy", "check_follows_index", "check_shift_and_scale"}
    assert names - optional == {f"check_{name}" for name in testing.CHECKS}
    for name in testing.__all__:
        thing = getattr(testing, name)
        assert inspect.getdoc(thing)
        options = set(inspect.signature(thing).parameters) - {"policy"} if callable(thing) else ()
        assert all(option in inspect.getdoc(thing) for option in options), name


def test_invariance_is_checked_where_it_is_claimed():
    testing.check_shift_and_scale(br.LBSDA())
    testing.check_shift_and_scale(br.UCB1(0, 1), scale=False)
    with pytest.raises(AssertionError, match=r"where rewards x are 0.25 x"):
        testing.check_shift_and_scale(br.UCB1(0, 1))


def test_pulls_are_compared_with_an_index(rewards01):
    def ucb(history, arm):
        paid = [x for a, x in history if a == arm]
        return np.mean(paid) + math.sqrt(2 * math.log(len(history)) / len(paid))

    testing.check_follows_index(br.UCB1(0, 1), rewards01, ucb)
    with pytest.raises(AssertionError, match="where the indices are"):
        testing.check_follows_index(br.UCB1(0, 2), rewards01, ucb)


def test_a_policy_of_a_script_is_not_looked_for_in_the_cache():
    cls = type("Local", (br.UCB1,), {"__module__": "__main__"})
    testing.check_cache(cls())
