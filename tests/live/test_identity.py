"""Ids of decisions are known again by those who gave them, and by nobody else."""

import re

import pytest
from hypothesis import given, strategies as st

import brigand as br
from brigand.live.identity import Identity
from live.common import FE, Clock
from stores import run

STEPS = st.integers(1, 2**53)
KEY = "0123456789abcdef" * 2


@given(STEPS, STEPS)
def test_an_id_has_its_step_and_no_other(one, other):
    identity, stranger = Identity.new(), Identity.new()
    id_ = identity.id_of(one)
    assert re.fullmatch("[1-9][0-9]*-[0-9a-f]{16}", id_)
    assert identity.step_of(id_) == Identity(identity.text).step_of(id_) == one
    assert stranger.step_of(id_) is None
    if one != other:
        assert identity.step_of(id_.replace(f"{one}-", f"{other}-", 1)) is None


@given(st.lists(st.integers(0, 50), max_size=5))
def test_copies_know_what_was_decided_before_they_were_made(copied_at):
    identity, known = Identity.new(), {}
    for steps in sorted(copied_at):
        for step in range(max(known, default=0) + 1, steps + 1):
            known[step] = identity.id_of(step)
        original, identity = identity, identity.copied(steps)
        assert original.id_of(steps + 1) != identity.id_of(steps + 1)
        assert identity.step_of(original.id_of(steps + 1)) is None
    for step, id_ in known.items():
        assert identity.step_of(id_) == step
        assert identity.id_of(step) == id_
    assert identity.text.count(":") <= len(set(copied_at)) + 1


def test_ids_of_before_are_known_and_go_on():
    identity = Identity("3c10fa2bfae6")
    assert identity.id_of(7) == "3c10fa2bfae6-7"
    assert identity.step_of("3c10fa2bfae6-7") == 7
    assert identity.step_of("3c10fa2bfae6-07") is identity.step_of("3c10fa2bfae7-7") is None
    digits = Identity("123456789012")
    assert digits.step_of("123456789012-7") == 7
    copy = identity.copied(7)
    assert copy.step_of("3c10fa2bfae6-7") == 7
    assert copy.step_of("3c10fa2bfae6-8") is None
    assert copy.step_of(copy.id_of(8)) == 8


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "1:", f"2:{KEY}", f"1:{KEY}0", f"a 5:{KEY} 4:{KEY}", f"1:{KEY} 1:{KEY}", "a\n", None, 3],
)
def test_what_is_no_identity(text):
    with pytest.raises(ValueError, match="no identity"):
        Identity(text)


def test_no_message_and_no_id_gives_the_key_away():
    bandit = br.Bandit(["a"], FE, clock=Clock())
    key = bandit._ids.text.partition(":")[2]
    for id_ in ("1-2", 3):
        with pytest.raises(br.UnknownDecisionError) as caught:
            bandit.tell(id_, 0.5)
        assert key not in str(caught.value)
    assert key not in repr(bandit)
    assert key not in repr(bandit.ask())


def test_a_damaged_identity_is_said_to_be(url):
    br.Bandit(["a"], FE, store=url, name="x").close()
    run(url, "UPDATE brigand_bandits SET uid = 'X'")
    with pytest.raises(br.StorageError, match="the identity of bandit 'x' is damaged"):
        br.Bandit.open(url, "x")
