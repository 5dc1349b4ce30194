"""`select` made from an index, and other kernels that are made from kernels."""

import functools
import pickle
import sys

import numpy as np
import pytest

import brigand as br
import own_index
from brigand import testing
from brigand.testing.contract import index_of
from strength import full


@pytest.mark.parametrize("name", br.CATALOGUE)
def test_every_kernel_stands_in_its_module_under_its_name(name):
    """Else Numba's disk cache and pickles could not find it; those that are made are given both."""
    for kernel in br.CATALOGUE[name].kernels:
        module = sys.modules[kernel.__module__]
        assert functools.reduce(getattr, kernel.__qualname__.split("."), module) is kernel


def test_two_selects_of_one_module_are_told_apart():
    """Compiled, in this process and from the disk cache in another one, and in plain Python."""
    rewards = np.zeros((5, 3))
    for compiled in (False, True):
        assert (br.trace(own_index.Lowest(), rewards, compiled=compiled) == 0).all()
        assert (br.trace(own_index.Highest(), rewards, compiled=compiled) == 2).all()
    if full:
        testing.check_cache(own_index.Lowest(), own_index.Highest())


def test_the_index_of_a_made_select_is_found():
    policy = own_index.Highest()
    assert index_of(policy)(policy.parameters(3, 5), policy.start(3, 5), 2, None) == 2.0


def test_a_policy_that_carries_its_kernels_can_be_pickled():
    policy = br.RobustUCB("median", 0.5, v=1.0)
    assert pickle.loads(pickle.dumps(policy)).kernels == policy.kernels
