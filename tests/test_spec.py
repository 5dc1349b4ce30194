"""The JSON form of specs: lossless, the same for equal specs, and refusing what it cannot read."""

import functools
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from brigand import (
    CATALOGUE,
    UCB1,
    Bernoulli,
    Constant,
    Distribution,
    Empirical,
    Environment,
    EpsilonGreedy,
    ExplorationSequence,
    ExploreThenCommit,
    Exponential,
    FiniteSupport,
    ForcedExploration,
    Gaussian,
    InvalidValueError,
    Linear,
    Oracle,
    Policy,
    Power,
    Sequence,
    StudentT,
    ThompsonGaussian,
    UnknownNameError,
    oracle,
)
from brigand.spec import Spec, canonical, import_name, later, type_name

SEQUENCES = {
    "Constant()": Constant(),
    "Constant(3.5)": Constant(3.5),
    "Constant(inf)": Constant(math.inf),
    "Linear()": Linear(),
    "Linear(0.1, -1)": Linear(0.1, -1),
    "Exponential()": Exponential(),
    "Exponential(1.25, 3)": Exponential(1.25, 3),
    "Power(0.5)": Power(0.5),
    "Sequence, list": Sequence([1, 2, 2, 7.5]),
    "Sequence, array with inf": Sequence(np.array([0.0, 1 / 3, math.inf])),
    "Sequence, name": Sequence("math:sqrt"),
    "Sequence, function": Sequence(math.sqrt),
}
SPECS = (
    {f"policy {name}": policy for name, policy in CATALOGUE.items()}
    | SEQUENCES
    | {
        "informed oracle": oracle().informed(
            Environment.piecewise(
                [[Bernoulli(0.1), Bernoulli(0.2)], [Bernoulli(0.3), Bernoulli(0.2)]], [1, 7]
            )
        ),
        "nested": ForcedExploration(Sequence([1.0, math.inf]), window=50, reset_round=0, reset_offset=1),
    }
)


@dataclass(frozen=True)
class Grown(Spec):
    """A spec with a field that it did not always have."""

    scale: float
    shift: float | None = later(None)


def test_a_later_field_is_in_the_form_only_where_it_is_used():
    kind = f"{__name__}:Grown"
    assert Grown(2).to_json() == {"type": kind, "scale": 2.0}
    assert Grown(2, shift=1).to_json() == {"type": kind, "scale": 2.0, "shift": 1.0}
    for spec in (Grown(2), Grown(2, shift=1)):
        assert Spec.from_json(spec.to_json()) == spec
    with pytest.raises(TypeError):
        Grown(2, 1)


@dataclass(frozen=True)
class Own(Spec):
    """A user's own spec."""

    scale: float
    seed: int = 0
    label: str | None = None
    flag: bool = False


@dataclass(frozen=True)
class OwnReward(Bernoulli):
    """A user's own reward."""


def through_text(spec, read_as=Spec):
    # NaN and Infinity are no JSON: other programs could not read them.
    return read_as.from_json(json.loads(json.dumps(spec.to_json(), allow_nan=False)))


@pytest.mark.parametrize("name", SPECS)
def test_specs_come_back_from_json_text_unchanged(name):
    spec = SPECS[name]
    for read_as in (Spec, type(spec), type(spec).__mro__[1]):
        again = through_text(spec, read_as)
        assert type(again) is type(spec)
        assert again == spec
        assert hash(again) == hash(spec)
        assert canonical(again) == canonical(spec)


def test_different_specs_have_different_canonical_forms():
    # A sequence given by name or as the function of that name is one and the same.
    assert len({canonical(spec) for spec in SPECS.values()}) == len(SPECS) - 1
    assert SEQUENCES["Sequence, name"] == SEQUENCES["Sequence, function"]


def test_canonical_forms_are_compact_json_with_sorted_keys():
    assert canonical(Gaussian(0.5)) == '{"mu":0.5,"sigma":1.0,"type":"Gaussian"}'


@pytest.mark.parametrize(
    ("from_ints", "from_floats"),
    [
        (Bernoulli(1), Bernoulli(1.0)),
        (Gaussian(0, 1), Gaussian(0.0, 1.0)),
        (StudentT(3, -1, 2), StudentT(3.0, -1.0, 2.0)),
        (FiniteSupport([0, 1], [1, 0]), FiniteSupport([0.0, 1.0], [1.0, 0.0])),
        (Empirical([0, 1]), Empirical([0.0, 1.0])),
        (Constant(3), Constant(3.0)),
        (Linear(2), Linear(2.0)),
        (Exponential(2), Exponential(2.0)),
        (Power(1), Power(1.0)),
        (Sequence([1, 2]), Sequence([1.0, 2.0])),
        (ForcedExploration(Linear(2), 50), ForcedExploration(Linear(2.0), 50)),
        (UCB1(0, 1), UCB1(0.0, 1.0)),
        (UCB1(sigma=1), UCB1(sigma=1.0)),
        (EpsilonGreedy(1), EpsilonGreedy(1.0)),
        (EpsilonGreedy(exponent=1), EpsilonGreedy(exponent=1.0)),
        (EpsilonGreedy(c=5, d=1), EpsilonGreedy(c=5.0, d=1.0)),
        (ThompsonGaussian(1), ThompsonGaussian(1.0)),
        (Gaussian(np.int64(2), np.float64(0.5)), Gaussian(2.0, 0.5)),
        (Environment.stationary([Gaussian(0)]), Environment.stationary([Gaussian(0.0)])),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_equal_specs_have_the_same_canonical_form_whether_int_or_float_was_given(from_ints, from_floats):
    assert from_ints == from_floats
    assert canonical(from_ints) == canonical(from_floats)


def test_zero_has_the_same_canonical_form_with_either_sign():
    assert Gaussian(0.0) == Gaussian(-0.0)
    assert canonical(Gaussian(0.0)) == canonical(Gaussian(-0.0))


@pytest.mark.parametrize("m", [20, np.int32(20)], ids=["int", "NumPy's"])
def test_integers_stay_integers(m):
    written = ExploreThenCommit(m).to_json()["m"]
    assert written == 20
    assert type(written) is int


@settings(derandomize=True, deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
)
def test_every_float_comes_back_to_the_last_bit(number, data):
    # Floats are equal bit by bit, but for the sign of zero, which is dropped on purpose.
    assert through_text(Gaussian(number)).mu == number
    assert list(through_text(Empirical(data)).data) == data


def test_json_of_a_spec_is_plain_data_of_its_own():
    # A caller who edits what he got must not edit the spec.
    spec = ForcedExploration(Sequence([1, 2]))
    spec.to_json()["sequence"]["values"].append(0)
    assert spec == ForcedExploration(Sequence([1, 2]))
    data = spec.to_json()
    Spec.from_json(data)
    assert data == spec.to_json()


def test_a_users_own_specs_are_found_by_their_module():
    for spec in (Own(2, seed=3, label="a", flag=True), Own(math.inf), Own(-math.inf), OwnReward(0.25)):
        assert spec.to_json()["type"] == f"{__name__}:{type(spec).__name__}" == type_name(type(spec))
        again = through_text(spec)
        assert again == spec
        assert type(again) is type(spec)


def test_a_users_own_reward_can_stand_in_an_environment():
    environment = Environment.stationary([OwnReward(0.25), Bernoulli(0.25)])
    assert through_text(environment) == environment


def test_types_of_this_package_have_short_names():
    assert type_name(Gaussian) == "Gaussian"
    assert type_name(Oracle) == "Oracle"


def test_a_sequence_keeps_the_name_of_a_function_that_can_be_imported():
    assert Sequence("math:sqrt").to_json() == {"type": "Sequence", "values": "math:sqrt"}
    assert Sequence("math:sqrt").values is math.sqrt


def test_a_lambda_is_written_by_its_first_values_which_tell_it_apart():
    square, cube, cube_again = (Sequence(f) for f in (lambda r: r**2, lambda r: r**3, lambda r: r**3))
    assert "<lambda>" in json.loads(canonical(square))["values"]
    assert canonical(square) != canonical(cube) == canonical(cube_again)


def test_a_lambda_cannot_be_read_back_and_the_error_says_which():
    data = ForcedExploration(Sequence(lambda r: r**2)).to_json()
    with pytest.raises(InvalidValueError, match=r"<lambda> \(not importable, .* cannot be imported"):
        Spec.from_json(json.loads(json.dumps(data)))


class Squares:
    def __call__(self, r):
        return r * r


@pytest.mark.parametrize(
    "function", [functools.partial(pow, 2), Squares(), [1.0] * 65], ids=["partial", "object", "list"]
)
def test_every_sequence_that_can_be_made_can_be_written(function):
    assert Sequence(function).to_json()["type"] == "Sequence"


@pytest.mark.parametrize(
    "name",
    ["math:no_such", "no_such_module:f", "math", "", ":", "math:", ":sqrt", ".math:sqrt", "math:sqrt.x"],
)
def test_a_name_that_leads_nowhere_is_refused(name):
    with pytest.raises(InvalidValueError, match="cannot be imported") as error:
        import_name(name)
    assert repr(name) in str(error.value)


def test_names_lead_to_attributes_of_attributes():
    assert import_name("brigand.spec:Spec.to_json") is Spec.to_json


def test_an_unknown_type_is_refused_by_name_with_the_nearest_known_one():
    with pytest.raises(UnknownNameError, match=r"'Bernouli'.*Did you mean 'Bernoulli'\?.*Known: "):
        Spec.from_json({"type": "Bernouli", "p": 0.5})
    with pytest.raises(UnknownNameError, match="'Cauchy'"):
        Environment.from_json({"type": "Environment", "phases": [[{"type": "Cauchy"}]], "starts": [1]})


@pytest.mark.parametrize("name", ["no_such_module:Policy", "math:NoSuch"])
def test_a_users_type_that_cannot_be_imported_is_refused_by_name(name):
    with pytest.raises(InvalidValueError, match=name):
        Spec.from_json({"type": name})


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        None,
        3,
        "Gaussian",
        {"p": 0.5},
        {"type": None},
        {"type": 3, "p": 0.5},
        {"type": ["Bernoulli"]},
        {"type": "Bernoulli"},
        {"type": "Bernoulli", "p": 0.5, "q": 0.5},
        {"type": "Bernoulli", "p": "0.5"},
        {"type": "Bernoulli", "p": None},
        {"type": "Bernoulli", "p": [0.5]},
        {"type": "Bernoulli", "p": {"type": "Bernoulli", "p": 0.5}},
        {"type": "Bernoulli", "p": 1.5},
        {"type": "Gaussian", "mu": math.nan},
        {"type": "Gaussian", "mu": "inf"},
        {"type": "FiniteSupport", "values": 3},
        {"type": "FiniteSupport", "values": [1], "probabilities": 1},
        {"type": "Empirical", "data": {"0": 1}},
        {"type": "Environment", "phases": 3, "starts": [1]},
        {"type": "Environment", "phases": [[{"p": 0.5}]], "starts": [1]},
        {"type": "Environment", "phases": [[0.5]], "starts": [1]},
        {"type": "Environment", "phases": [[{"type": "UCB1"}]], "starts": [1]},
        {"type": "Environment", "phases": [[{"type": "Bernoulli", "p": 0.5}]], "starts": 1},
        {"type": "Environment", "phases": [[{"type": "Bernoulli", "p": 0.5}]], "starts": [1.0]},
        {"type": "ForcedExploration", "sequence": {"type": "Bernoulli", "p": 0.5}},
        {"type": "ForcedExploration", "window": 0},
        {"type": "ExploreThenCommit", "m": 2.5},
        {"type": "Sequence", "values": [2, 1]},
        {"type": "Sequence", "values": "math:no_such"},
    ],
    ids=repr,
)
def test_what_is_not_a_spec_is_refused(data):
    with pytest.raises(InvalidValueError):
        Spec.from_json(data)


@pytest.mark.parametrize("base", [Distribution, Policy, ExplorationSequence])
def test_an_abstract_base_cannot_be_read_as_a_spec(base):
    with pytest.raises(InvalidValueError, match=base.__name__):
        Spec.from_json({"type": base.__name__})


@pytest.mark.parametrize(
    ("read_as", "spec"),
    [
        (Environment, Bernoulli(0.5)),
        (Policy, Gaussian(0)),
        (Distribution, UCB1()),
        (Gaussian, Bernoulli(0.5)),
    ],
    ids=["policy for environment", "reward for policy", "policy for reward", "another reward"],
)
def test_a_spec_of_another_kind_is_refused_with_the_kind_that_was_expected(read_as, spec):
    with pytest.raises(InvalidValueError, match=f"expected the JSON form of a {read_as.__name__}"):
        read_as.from_json(spec.to_json())


CALLS = []


def record_call(**arguments):
    CALLS.append(arguments)


def test_reading_json_calls_nothing_but_types_of_specs():
    # Result files come from other people; reading one must not run what it names.
    with pytest.raises(InvalidValueError):
        Spec.from_json({"type": f"{__name__}:record_call", "command": "anything"})
    assert not CALLS
