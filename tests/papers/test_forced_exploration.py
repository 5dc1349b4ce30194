"""The two protocols: tunings, instances, policies."""

import numpy as np
import pytest

import brigand as br
from brigand.papers import authors, forced_exploration as paper


def test_the_papers_tunings():
    assert paper.PROTOCOLS["paper"].windows(100_000) == (1628, 479)


def test_the_scripts_tunings():
    assert paper.PROTOCOLS["authors"].windows(100_000) == (1820, 536)


@pytest.mark.parametrize(("protocol", "starts"), [("paper", 20_000), ("authors", 25_000)])
def test_phases_are_of_equal_length(protocol, starts):
    environment = paper.EXPERIMENTS["piecewise-bernoulli"].environment(paper.PROTOCOLS[protocol], 100_000, 0)
    assert environment.starts == tuple(range(1, 100_001, starts))


def test_the_first_phases_are_the_authors_instance():
    experiment = paper.EXPERIMENTS["piecewise-gaussian"]
    text, scripts = (
        experiment.environment(paper.PROTOCOLS[name], 100_000, experiment.instance_seed)
        for name in ("paper", "authors")
    )
    assert text.phases[:4] == scripts.phases
    assert scripts == br.random_environment("gaussian", 5, 100_000, 4, seed=0)


def test_the_authors_protocol_is_that_of_their_sequences():
    policies = paper.EXPERIMENTS["piecewise-bernoulli"].policies(paper.PROTOCOLS["authors"], 100_000)
    assert policies["SW-FE-Exp"] == br.ForcedExploration(br.Exponential(shift=-1), 1820, 0, 1)
    assert policies["SW-FE-Linear"] == br.ForcedExploration(br.Linear(shift=-1), 536, 0, 1)
    assert policies["SW-FE-Constant"] == br.ForcedExploration(br.Constant(), 536, 0, 1)
    assert policies["FE-Exp"] == br.ForcedExploration(br.Exponential(shift=-1))


@pytest.mark.parametrize(("protocol", "coded", "curves"), [("paper", False, 4), ("authors", True, 4)])
def test_lb_sda_counts_rounds_as_the_scripts_do_in_their_protocol(protocol, coded, curves):
    found = [
        policy
        for experiment in paper.EXPERIMENTS.values()
        for policy in experiment.policies(paper.PROTOCOLS[protocol], 1000).values()
        if isinstance(policy, br.LBSDALM | br.SlidingWindowLBSDA)
    ]
    assert [policy.authors_code for policy in found] == [coded] * curves
    scripts = [row.policy for row in authors.rows() if "LB_SDA" in row.name]
    assert len(scripts) == 6
    assert all(policy.authors_code for policy in scripts)


def test_the_papers_protocol_is_that_of_the_text():
    policies = paper.EXPERIMENTS["piecewise-gaussian"].policies(paper.PROTOCOLS["paper"], 100_000)
    assert policies["SW-FE-Exp"] == br.ForcedExploration(br.Exponential(), 1628)
    assert policies["SW-FE-Constant"] == br.ForcedExploration(br.Constant(), 479)


def test_unknown_names_are_refused():
    with pytest.raises(br.UnknownNameError, match="unknown experiment 'instance'"):
        paper.run_experiment("instance")
    with pytest.raises(br.UnknownNameError, match="unknown protocol 'x'"):
        paper.run_experiment("stationary-bernoulli", "x")


def test_instances_differ_and_each_is_run():
    results = paper.run_experiment("stationary-gaussian", horizon=200, instances=3, runs=2)
    assert len(set(results.environments)) == 3
    assert results.dataset.sizes["instance"] == 3
    assert results.dataset.sizes["replication"] == 2


def test_instances_share_no_random_numbers():
    """UCB1's first arm is random: the same in every instance if instances met the same numbers."""
    results = paper.run_experiment("stationary-bernoulli", horizon=20, instances=30)
    first = results.dataset["pulls"].sel(policy="UCB1", step=1).argmax("arm")
    assert len(np.unique(first)) > 3
