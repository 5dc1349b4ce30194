"""Published tables as data: reading them, comparing, resuming, reporting."""

import json
import math

import numpy as np
import pytest

import brigand as br
from brigand.papers import banditbench, published
from brigand.papers.validation import Check, Fixed, Published, Row, check, grid, printed

COIN = Fixed("coin", br.Environment.stationary([br.Bernoulli(0.25), br.Bernoulli(0.75)]))


def row(policy=None, mean=50.0, **options):
    published = Published(mean, 100, 5.0, 0.0)
    return Row("table", COIN, "x", policy or br.UniformRandom(), {200: published}, 60, **options)


def test_a_printed_mean_is_read_with_its_last_digit():
    assert printed("22.9 (29.2)", 10) == Published(22.9, 10, 29.2, 0.1)
    assert printed(" 850 ", 10) == Published(850, 10, None, 1)


def test_what_cannot_be_a_mean_is_refused():
    with pytest.raises(ValueError, match="'n/a' is no printed mean"):
        printed("n/a", 10)


def test_a_grid_is_read_by_names_without_its_empty_cells():
    assert grid("| a | b\nx | 1 |\ny | 2 | 3") == {"x": {"a": "1"}, "y": {"a": "2", "b": "3"}}


def test_z_is_the_difference_in_standard_errors_of_both():
    """Ours 52 +- 0.4, theirs 50 +- 0.3: 2 / 0.5; with the mean printed to 1, half of that is granted."""
    comparison = Check(row(), 200, 52.0, 4.0, 100)
    assert comparison.z == pytest.approx(2 / math.hypot(0.4, 0.5))
    rounded = Row("table", COIN, "x", br.UniformRandom(), {200: Published(50, 100, 3.0, 1)}, 60)
    assert Check(rounded, 200, 52.0, 4.0, 100).z == pytest.approx(1.5 / 0.5)
    assert Check(rounded, 200, 50.4, 4.0, 100).z == 0.0


def test_without_a_published_deviation_ours_is_taken_for_both():
    bare = Row("table", COIN, "x", br.UniformRandom(), {200: Published(50, 400)}, 60)
    assert Check(bare, 200, 51.0, 4.0, 100).z == pytest.approx(1 / math.hypot(0.4, 0.2))


def test_a_difference_without_any_spread_is_infinite():
    exact = Row("table", COIN, "x", br.UniformRandom(), {200: Published(50, 100, 0.0)}, 60)
    assert Check(exact, 200, 51.0, 0.0, 10).z == math.inf
    assert Check(exact, 200, 50.0, 0.0, 10).z == 0.0


def test_the_verdict_knows_reasons():
    assert Check(row(), 200, 50.0, 5.0, 100).verdict == "agrees"
    assert Check(row(), 200, 60.0, 5.0, 100).verdict == "differs"
    assert Check(row(differs="another schedule"), 200, 60.0, 5.0, 100).verdict == "differs (why)"


def test_uniform_play_is_checked_exactly():
    """Each pull of the worse arm costs 1/2: 200 fair coins give 50 with deviation sqrt(50) / 2."""
    (found,) = check(row(), 4000)
    assert abs(found.mean - 50) < 4 * found.error
    assert found.sd == pytest.approx(math.sqrt(50) / 2, rel=0.05)


def test_a_second_call_goes_on_where_the_first_stopped(tmp_path, monkeypatch):
    store = tmp_path / "validation.json"
    rows = [row(), row(br.UCB1(0, 1), mean=10.0)]
    first = published.run(rows[:1], store)
    whole = published.run(rows, store)
    assert whole[0].mean == first[0].mean
    monkeypatch.setattr(published, "check", None)  # nothing is run again
    assert [c.mean for c in published.run(rows, store)] == [c.mean for c in whole]


def test_a_row_is_run_again_when_what_it_depends_on_has_changed(tmp_path, monkeypatch):
    store = tmp_path / "validation.json"
    published.run([row()], store)
    monkeypatch.setattr(published, "code_stamp", lambda *parts: "another source")
    published.run([row()], store)
    assert len(json.loads(store.read_text())) == 2


def test_more_runs_replace_fewer_and_not_the_other_way_round(tmp_path):
    store = tmp_path / "validation.json"
    assert [published.run([row()], store, most=most)[0].runs for most in (10, 30, 20, None)] == [
        10,
        30,
        30,
        60,
    ]
    assert published.run([row()], store, budget=4000)[0].runs == 60
    assert published.run([row()], tmp_path / "other.json", budget=4000)[0].runs == 20


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_damaged_store_is_refused(tmp_path, text):
    store = tmp_path / "validation.json"
    store.write_text(text)
    with pytest.raises(br.ResultFileError, match=r"validation\.json"):
        published.run([row()], store)


def test_the_report_counts_and_explains():
    found = [
        Check(row(), 200, 50.0, 5.0, 100),
        Check(row(differs="another schedule"), 200, 60.0, 5.0, 100),
        Check(row(), 200, 70.0, 5.0, 100),
    ]
    text = published.report(found)
    assert "1 of 3 published numbers agree; 1 differ for a known reason, 1 for an unknown one." in text
    assert "| coin | x | 200 | 50 | 0.50 | 100 | 60.00 | 0.50 | 100 | 14.1 | differs (why) |" in text
    assert "- **x**: another schedule" in text


def test_rows_are_chosen_by_the_beginning_of_their_tables_title():
    chosen = published.rows(["Besson"])
    assert {r.table.split()[0] for r in chosen} == {"Besson's", "Besson"}
    assert 0 < len(published.rows(["Besson"], quick=True)) < len(chosen)
    with pytest.raises(br.UnknownNameError, match="unknown table 'Bessel'"):
        published.rows(["Bessel"])


@pytest.mark.full
def test_each_row_is_stored_under_a_key_of_its_own():
    keys = [published._key(r) for r in published.rows()]
    assert len(set(keys)) == len(keys)


def test_chacha_gives_the_published_words():
    """RFC 8439, appendix A.1, test vectors 1 and 2 (20 rounds, key 0)."""
    words = banditbench.chacha([0] * 8, 0, 20)
    assert words[:4].tolist() == [0xADE0B876, 0x903DF1A0, 0xE56A5D40, 0x28BD8653]
    words = banditbench.chacha([0] * 8, 1, 20)
    assert words[:4].tolist() == [0xBEE7079F, 0x7A385155, 0x7C97BA98, 0x0D082D73]


def test_the_shared_random_numbers_are_uniform():
    """Mean 1/2 within 4 standard errors, level 6e-5; and each arm has its own."""
    numbers = banditbench.random_numbers()
    assert numbers.shape == (10, 500)
    assert abs(numbers.mean() - 0.5) < 4 / math.sqrt(12 * numbers.size)
    assert len(np.unique(numbers)) == numbers.size
