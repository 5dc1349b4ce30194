"""Rewards and means that are functions of the user's."""

import json
import math

import numpy as np
import pytest

import brigand as br
import own_world
from brigand.environments import functions
from brigand.spec import canonical

JACKPOT = br.FunctionReward(own_world.jackpot, 0.01 * 10 + 0.99 * 0.5)
PRODUCT = br.FunctionReward(own_world.product, math.sqrt(2 / math.pi) / 2, low=0.0)


def test_a_reward_is_what_the_function_returns():
    environment = br.Environment.stationary([JACKPOT, br.Bernoulli(0.5), PRODUCT, JACKPOT])
    laws, table, _, uses_uniform, uses_normal = environment.compiled
    assert environment.functions == (own_world.jackpot, own_world.product)
    assert uses_uniform
    assert uses_normal
    pay = functions.paying(environment.functions)
    for uniform, normal in [(0.001, 1.0), (0.3, -2.0), (0.9, 0.5)]:
        expected = own_world.jackpot(uniform, normal)
        assert pay(laws[0, 0], table, uniform, normal) == pay(laws[0, 3], table, uniform, normal) == expected
        assert pay(laws[0, 1], table, uniform, normal) == float(uniform < 0.5)
        assert pay(laws[0, 2], table, uniform, normal) == own_world.product(uniform, normal)


def test_a_mean_is_what_the_function_returns():
    for function, plain in [(own_world.halves, own_world.halves), (own_world.waves, own_world.waves.py_func)]:
        path = br.MeanFunction(function, 3)
        expected = [[plain(t, arm) for arm in range(3)] for t in range(1, 101)]
        np.testing.assert_allclose(path.table(100), expected, rtol=1e-14)


def test_functions_that_can_be_imported_come_back_from_json():
    world = br.Restless(br.MeanFunction(own_world.waves, 2), [JACKPOT, br.Gaussian(0)])
    data = json.loads(json.dumps(world.to_json(), allow_nan=False))
    assert data["means"]["function"] == "own_world:waves"
    assert br.World.from_json(data) == world
    assert br.MeanFunction("own_world:halves", 2) == br.MeanFunction(own_world.halves, 2)
    assert world.functions == (own_world.jackpot, own_world.waves.py_func)


def test_functions_that_cannot_be_imported_are_told_apart_by_their_values():
    one, other, same = (br.MeanFunction(lambda t, arm, c=c: c / t, 2) for c in (0.1, 0.2, 0.1))
    assert "not importable" in one.to_json()["function"]
    assert canonical(one) == canonical(same) != canonical(other)
    one, other = (br.FunctionReward(lambda u, n, c=c: c * u, c / 2) for c in (0.1, 0.2))
    assert canonical(one) != canonical(other)
    with pytest.raises(br.InvalidValueError, match="not importable"):
        br.Distribution.from_json(one.to_json())


BAD = {
    "mean": (
        lambda: br.FunctionReward(own_world.product, 0.5),
        "as 0.5, but that of 131,072 draws is 0.39",
    ),
    "range": (lambda: br.FunctionReward(own_world.product, PRODUCT.mu, high=1.0), r"in \[-inf, 1\], but"),
    "NaN": (lambda: br.FunctionReward(lambda u, n: math.nan, 0.0), "must be finite, but .* returned nan"),
    "infinite at the end": (lambda: br.FunctionReward(lambda u, n: 1 / u, 1.0), "returned inf"),
    "does not compile": (lambda: br.FunctionReward(lambda u, n: u[n], 0.0), "does not compile"),
    "arguments": (
        lambda: br.FunctionReward(lambda u: u, 0.5),
        "does not compile|too many positional arguments",
    ),
    "text": (lambda: br.FunctionReward(lambda u, n: "a", 0.5), "does not compile"),
    "no function": (lambda: br.FunctionReward(3, 0.5), "a Python function or 'module:function', not 3"),
    "no name": (lambda: br.FunctionReward("own_world:nothing", 0.5), "has no 'nothing'"),
    "NaN as mean": (lambda: br.FunctionReward(own_world.product, math.nan), "must be finite, not nan"),
    "sigma": (lambda: br.FunctionReward(own_world.product, PRODUCT.mu, -1), ">= 0"),
    "means NaN": (lambda: br.MeanFunction(own_world.broken, 2).table(9), "arm 0 is nan in row 7"),
    "means text": (lambda: br.MeanFunction(lambda t, arm: None, 2).table(9), "does not compile"),
    "arms": (lambda: br.MeanFunction(own_world.halves, 0), "arms must be >= 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_allowed_is_refused_by_an_error_that_names_it(name):
    make, message = BAD[name]
    with pytest.raises(br.InvalidValueError, match=message):
        make()


def test_the_mean_may_be_off_by_the_error_of_the_draws_only():
    """The standard error of 2^17 draws of a uniform number is 0.0008."""
    br.FunctionReward(lambda u, n: u, 0.5)
    with pytest.raises(br.InvalidValueError, match="standard error"):
        br.FunctionReward(lambda u, n: u, 0.506)


def test_means_before_the_one_that_is_nan_are_good():
    world = br.Restless(br.MeanFunction(own_world.broken, 2))
    assert world.table(6).shape == (6, 2)
    with pytest.raises(br.InvalidValueError, match="row 7"):
        br.simulate(world, {"x": br.UniformRandom()}, 7, 1)
