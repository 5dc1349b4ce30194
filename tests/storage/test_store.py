"""Records go in and come out as they were, all of a transaction or nothing."""

import gc
import itertools
import json
import math
import struct
import threading
import time
import zlib

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import event
from sqlalchemy.engine import Engine

from brigand.errors import BrigandError, InvalidValueError, StorageError, UnknownNameError
from brigand.storage.checksums import checksum, fits
from brigand.storage.events import ADD, ASK, DEFAULT, REMOVE, TELL, Event, Found, Logged
from brigand.storage.records import CHUNK, PAGE_SIZE
from brigand.storage.schema import KINDS as CODES
from brigand.storage.store import open_store
from stores import KINDS, a_store, run


@pytest.fixture
def store(url):
    with open_store(url, create=True, synchronous="OFF") as opened:  # the machine will not crash
        yield opened


@pytest.fixture
def file_store(file_url):
    with open_store(file_url, create=True, synchronous="OFF") as opened:
        yield opened


@pytest.fixture
def bandit(store):
    return store.create("ads", "uid", "{}", [], None, 1.5).id


def ask(step, arm=0, at=0.0, data=""):
    return Event(ASK, step, arm, None, True, at, data)


def tell(step, value, arm=0, counted=True, at=0.0):
    return Event(TELL, step, arm, value, counted, at, "")


def default(step, value, arm=0, at=0.0):
    return Event(DEFAULT, step, arm, value, True, at, "")


def append(store, bandit, *events):
    with store.writing(bandit) as writing:
        writing.append(events, writing.last())


def log(store, bandit):
    with store.reading(bandit) as reading:
        return reading.since(0)


def test_a_bandit_is_found_as_it_was_created_also_after_reopening(url):
    events = [Event(ADD, None, arm, None, True, 7.25, f'{{"arm": "{arm}"}}') for arm in range(3)]
    with open_store(url, create=True) as store:
        record = store.create("ads", "u-1", '{"policy": "fe"}', events, '{"t": 0}', 7.25)
        assert store.url == url
    assert record[1:] == ("ads", "u-1", '{"policy": "fe"}', 7.25)
    with open_store(url, create=False) as store:
        assert store.find("ads") == record
        with store.reading(record.id) as reading:
            assert reading.last() == 3
            assert reading.since(0) == events
            assert reading.since(1) == events[1:]
            assert reading.since(3) == []
            assert reading.snapshot() == (3, '{"t": 0}')


def test_a_bandit_without_snapshot_and_events(store, bandit):
    with store.reading(bandit) as reading:
        assert reading.snapshot() is None
        assert reading.last() == 0
        assert reading.since(0) == []
        assert reading.decisions([]) == reading.decisions([1, 2]) == {}
        assert list(reading.history()) == []
        assert reading.steps() == 0


def test_names_are_compared_as_given_and_sorted(store):
    names = ["b", "B", "é", "e\u0301", " b", "b_c", "Ab", "日本", "\U0001f600", "", "%", "O'Brien\"; --"]
    for name in names:
        store.create(name, "", "", [], None, 0.0)
    assert store.names() == sorted(names)
    for name in names:
        assert store.find(name).name == name


def test_the_largest_of_those_that_begin_with_a_text(any_store):
    some = any_store.create("x/[a", "", "", [], None, 0.0).id
    most = any_store.create("x/[é", "", "", [], None, 0.0).id
    for name in ("x/[", "x/", "x/\\", "X/[a", "xx/[a"):
        any_store.create(name, "", "", [], None, 0.0)
    for bandit, number in ((some, 1), (most, 2)):
        append(any_store, bandit, *(ask(step) for step in range(1, number + 1)))
    assert any_store.largest("x/[", 2) == (["x/[é", "x/[a"], 3)
    assert any_store.largest("x/[", 9) == (["x/[é", "x/[a", "x/["], 3)
    assert any_store.largest("y", 9) == ([], 0)


def test_unknown_taken_and_impossible_names(store, bandit):
    with pytest.raises(UnknownNameError, match=r"unknown bandit 'adz'. Did you mean 'ads'\?"):
        store.find("adz")
    with pytest.raises(InvalidValueError, match=r"'ads' is in '.*' already: open it with Bandit.open"):
        store.create("ads", "", "", [tell(1, 1.0)], "{}", 0.0)
    assert log(store, bandit) == []
    for name in ("\ud800", "a\udfffb", "b\0c"):
        with pytest.raises(InvalidValueError, match="lone surrogates or U"):
            store.create(name, "", "", [], None, 0.0)
        with pytest.raises(InvalidValueError, match="lone surrogates or U"):
            store.find(name)
    with pytest.raises(InvalidValueError, match="must be a text, not 3"):
        store.create(3, "", "", [], None, 0.0)
    with pytest.raises(InvalidValueError, match="lone surrogates cannot be stored"):
        store.create("other", "", "\ud800", [], None, 0.0)
    assert store.names() == ["ads"]


VALUES = [0.0, -0.0, 1.0, -3.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1.7976931348623157e308, 0.1, 2.0**53, 1e15]


def bits(value):
    return struct.pack("<d", value)


def test_special_floats_come_back_to_the_bit(store, bandit):
    append(store, bandit, *(event for i, v in enumerate(VALUES, 1) for event in (tell(i, v), default(i, v))))
    append(store, bandit, *(ask(i) for i in range(1, len(VALUES) + 1)))
    with store.reading(bandit) as reading:
        for read in (
            [e.value for e in reading.since(0) if e.kind == TELL],
            [x.default for x in reading.history()],
        ):
            assert [type(v) for v in read] == [float] * len(VALUES)
            assert [bits(v) for v in read] == [bits(v) for v in VALUES]


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@pytest.fixture(scope="module", params=KINDS)
def any_store(request):
    with a_store(request.param, request) as url, open_store(url, create=True, synchronous="OFF") as opened:
        yield opened


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 2e10), TEXTS)))
def test_any_event_is_read_back_unchanged(any_store, given):
    texts = [text.encode("utf-8", "ignore").decode() for *_, text in given]
    events = [
        Event(TELL, i, i, value, i % 2 == 0, at, text)
        for i, ((value, at, _), text) in enumerate(zip(given, texts, strict=True), 1)
    ]
    bandit = any_store.create(f"x{len(any_store.names())}", "", "", [], None, 0.0).id
    append(any_store, bandit, *events)
    read = log(any_store, bandit)
    assert read == events
    assert [bits(e.value) for e in read] == [bits(e.value) for e in events]
    assert all(type(e.counted) is bool for e in read)


def test_whole_numbers_come_back_as_floats(store, bandit):
    append(store, bandit, tell(1, 1))
    assert type(log(store, bandit)[0].value) is float


def test_texts_of_any_kind_and_size(store):
    text = json.dumps("é\0\U0001f600\ud800") + "é\U0001f600'" + "x" * 3_000_000
    record = store.create("big", text, text, [ask(1, data=text)], text, 0.0)
    assert store.find("big") == record
    assert record.definition == record.uid == text
    with store.reading(record.id) as reading:
        assert reading.snapshot() == (1, text)
        assert reading.since(0)[0].data == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_alike(store, bandit, value):
    append(store, bandit, ask(1))
    for written in (tell(1, value), ask(2, at=value)):
        with pytest.raises(InvalidValueError, match=f"numbers in a log are finite, .*{value}"):
            append(store, bandit, written)
    assert log(store, bandit) == [ask(1)]


def test_a_text_that_not_every_store_can_hold_is_refused_alike(store, bandit):
    for data in ("\ud800", "a\0b"):
        with pytest.raises(InvalidValueError, match="cannot be stored"):
            append(store, bandit, ask(1, data=data))
    assert log(store, bandit) == []


def test_the_snapshot_is_replaced(store, bandit):
    other = store.create("other", "", "", [], "{}", 0.0).id
    for seq in (4, 9, 9):
        with store.writing(bandit) as writing:
            writing.save(seq, f"state {seq}")
            assert writing.snapshot() == (seq, f"state {seq}")
    with store.reading(other) as reading:
        assert reading.snapshot() == (0, "{}")


def test_a_decision_has_one_tell_and_one_default(store, bandit):
    append(store, bandit, ask(1), tell(1, 0.5), default(1, 0.0), ask(2))
    before = log(store, bandit)

    def write(again):
        with store.writing(bandit) as writing:
            writing.append([tell(2, 1.0)], writing.last())
            writing.save(5, "{}")
            writing.append([again], writing.last())

    for again in (ask(1), tell(1, 0.5), default(1, 0.25)):
        with pytest.raises(StorageError, match="one tell and one default") as caught:
            write(again)
        assert isinstance(caught.value, OSError)
        assert isinstance(caught.value, BrigandError)
        assert caught.value.__cause__ is not None
    assert log(store, bandit) == before
    with store.reading(bandit) as reading:
        assert reading.snapshot() is None
    append(store, bandit, tell(2, 1.0))
    other = store.create("other", "", "", [], None, 0.0).id
    append(store, other, ask(1), tell(1, 0.5))


def test_a_failure_that_is_swallowed_still_undoes_its_transaction(store, bandit):
    append(store, bandit, ask(1), tell(1, 0.5))

    def write():
        with store.writing(bandit) as writing:
            writing.append([ask(2)], 2)
            writing.append([tell(1, 0.5)], 3)
            with pytest.raises(StorageError, match="one tell"):
                writing.last()
            with pytest.raises(StorageError, match="failed before"):
                writing.append([ask(3)], 3)

    with pytest.raises(StorageError, match="failed before; nothing of it was stored"):
        write()
    assert len(log(store, bandit)) == 2


def test_a_step_number_is_given_to_one_decision_only(store, bandit):
    append(store, bandit, ask(1))
    with pytest.raises(StorageError, match="refuses"), store.writing(bandit) as writing:
        writing.append([ask(2)], 0)
    assert len(log(store, bandit)) == 1


def test_arms_come_and_go_any_number_of_times(store, bandit):
    events = [Event(kind, None, 1, None, True, 0.0, "") for kind in (ADD, REMOVE, ADD, REMOVE)]
    append(store, bandit, *events)
    append(store, bandit)
    assert log(store, bandit) == events


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_any_exception_rolls_back(store, bandit, error):
    def write():
        with store.writing(bandit) as writing:
            writing.append([ask(1)], 0)
            writing.save(1, "{}")
            raise error

    with pytest.raises(error):
        write()
    assert log(store, bandit) == []
    append(store, bandit, ask(1))
    assert len(log(store, bandit)) == 1


def test_the_latest_event_with_a_key_is_found_and_sees_what_is_not_written_yet(store, bandit):
    def named(step, *keys):
        return ask(step, data=json.dumps({"explored": False, "keys": keys}))

    append(store, bandit, named(1, "r:1", "u:1"), named(2, "u:1"), ask(3), named(4, "u:2"))
    with store.writing(bandit) as writing:
        writing.append([named(5, "u:2", "u:3")], writing.last())
        assert writing.found("u:2").step == 5
    with store.reading(bandit) as reading:
        found = {key: reading.found(key) for key in ("r:1", "u:1", "u:2", "u:3", "u:4")}
    assert {key: event and event.step for key, event in found.items()} == {
        "r:1": 1,
        "u:1": 2,
        "u:2": 5,
        "u:3": 5,
        "u:4": None,
    }


def test_nothing_is_read_or_written_after_the_transaction(store, bandit):
    append(store, bandit, *(ask(step) for step in range(1, PAGE_SIZE + 3)))
    with store.writing(bandit) as writing:
        writing.append([tell(1, 1.0)], writing.last())
    with pytest.raises(StorageError, match="is over"):
        writing.append([tell(2, 1.0)], writing.last())
    with store.reading(bandit) as reading:
        history = reading.history()
        next(history)
    with pytest.raises(StorageError, match="is over"):
        list(history)


def test_a_reader_sees_one_moment_and_blocks_no_writer(store, bandit):
    append(store, bandit, ask(1))
    with store.reading(bandit) as reading:
        assert reading.last() == 1
        append(store, bandit, ask(2), tell(1, 1.0))
        assert reading.last() == 1
        assert reading.decisions([1]) == {1: Found(0, None, False, None)}
        assert reading.steps() == 1
    with store.writing(bandit) as writing:
        writing.append([ask(3)], 3)
        assert len(log(store, bandit)) == 3
    assert len(log(store, bandit)) == 4


def test_history_and_decisions_of_a_log_with_all_kinds(store, bandit):
    events = [
        Event(ADD, None, 0, None, True, 1.0, "{}"),
        ask(1, arm=2, at=2.0, data='{"user": 1}'),
        ask(2, arm=1, at=3.0),
        tell(2, 0.5, arm=1, at=4.0),
        ask(3, arm=0, at=5.0),
        Event(REMOVE, None, 2, None, True, 5.5, ""),
        default(1, -1.0, arm=2, at=6.0),
        tell(1, 0.75, arm=2, counted=False, at=7.0),
        ask(4, arm=1, at=8.0),
        default(4, 0.0, arm=1, at=9.0),
    ]
    append(store, bandit, *events)
    expected = [
        Logged(1, 2, 2.0, '{"user": 1}', 0.75, False, 7.0, -1.0, True, 6.0),
        Logged(2, 1, 3.0, "", 0.5, True, 4.0, None, False, None),
        Logged(3, 0, 5.0, "", None, False, None, None, False, None),
        Logged(4, 1, 8.0, "", None, False, None, 0.0, True, 9.0),
    ]
    with store.reading(bandit) as reading:
        assert reading.since(0) == events
        assert list(reading.history()) == expected
        assert list(reading.history(after_step=1, limit=2)) == expected[1:3]
        assert list(reading.history(limit=0)) == list(reading.history(after_step=4)) == []
        assert reading.decisions([4, 5, 3, 2, 1, 2]) == {
            1: Found(2, 0.75, False, -1.0),
            2: Found(1, 0.5, True, None),
            3: Found(0, None, False, None),
            4: Found(1, None, False, 0.0),
        }
        assert reading.steps() == 4


def test_more_decisions_than_one_query_takes(store, bandit):
    steps = list(range(1, 2 * CHUNK + 2))
    append(
        store,
        bandit,
        *(ask(step, arm=step % 7) for step in steps),
        *(tell(step, 1.0, arm=step % 7) for step in steps),
    )
    with store.reading(bandit) as reading:
        assert {s: found.arm for s, found in reading.decisions(steps[::-1]).items()} == {
            s: s % 7 for s in steps
        }
        assert [logged.step for logged in reading.history()] == steps
        assert [logged.step for logged in reading.history(3, CHUNK + 1)] == steps[3 : CHUNK + 4]
        first = itertools.islice(reading.history(), 2)
        assert [logged.step for logged in first] == [1, 2]


def test_threads_share_a_store(store, bandit):
    failures = []

    def work():
        try:
            for _ in range(50):
                with store.writing(bandit) as writing:
                    last = writing.last()
                    writing.append([ask(last + 1)], last)
                assert len(log(store, bandit)) > last
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [e.step for e in log(store, bandit)] == list(range(1, 201))


def test_a_writer_that_does_not_end_is_reported_after_the_timeout(url):
    with open_store(url, create=True) as store, open_store(url, create=False, busy_timeout=0.2) as impatient:
        bandit = store.create("x", "", "", [], None, 0.0).id
        with store.writing(bandit):
            start = time.monotonic()
            with pytest.raises(StorageError, match=r"is locked: others have kept it for 0\.2 seconds"):
                append(impatient, bandit, ask(1))
            assert 0.2 <= time.monotonic() - start < 5
            assert log(impatient, bandit) == []
        append(impatient, bandit, ask(1))
        with impatient.writing(bandit), pytest.raises(StorageError, match=r"kept it for 0\.2 seconds"):
            append(impatient, bandit, ask(2))
        assert len(log(store, bandit)) == 1


def test_a_full_database_is_reported_and_the_store_goes_on_once_there_is_room(file_store):
    store, bandit = file_store, file_store.create("ads", "uid", "{}", [], None, 1.5).id
    append(store, bandit, ask(1))

    def limit(connection, _):
        connection.execute("PRAGMA max_page_count=20")

    event.listen(Engine, "connect", limit)
    store.connections._close_idle()
    try:
        with pytest.raises(StorageError, match=r"bandits.db' cannot be written: the disk.* is full"):
            append(store, bandit, ask(2), ask(3, data="x" * 1_000_000))
        assert log(store, bandit) == [ask(1)]
        append(store, bandit, ask(2))
    finally:
        event.remove(Engine, "connect", limit)
    store.connections._close_idle()
    append(store, bandit, ask(3, data="x" * 1_000_000))
    assert [e.step for e in log(store, bandit)] == [1, 2, 3]


def test_closing_twice_and_using_it_afterwards(url):
    store = open_store(url, create=True)
    bandit = store.create("x", "", "", [], None, 0.0).id
    with store.writing(bandit) as writing:
        store.close()
        writing.append([ask(1)], 0)
    store.close()
    with pytest.raises(StorageError, match="was closed"):
        store.names()
    with open_store(url, create=False) as again:
        assert len(log(again, bandit)) == 1


def test_a_store_that_is_forgotten_is_closed(file_url):
    store = open_store(file_url, create=True)
    folder = store.connections.path.parent
    assert (folder / "bandits.db-wal").exists()
    del store
    gc.collect()
    assert [path.name for path in folder.iterdir()] == ["bandits.db"]


def test_what_is_opened_of_a_store_shares_connections_until_the_last_is_closed(url):
    first = open_store(url, create=True)
    others = [open_store(url, create=False) for _ in range(20)]
    assert {id(other.connections) for other in others} == {id(first.connections)}
    assert open_store(url, create=False, busy_timeout=1.0).connections is not first.connections
    first.create("x", "", "", [], None, 0.0)
    for other in [first, *others[:-1]]:
        other.close()
        other.close()
    assert others[-1].names() == ["x"]
    others[-1].close()
    with pytest.raises(StorageError, match="was closed"):
        others[-1].names()
    with open_store(url, create=False) as again:
        assert again.names() == ["x"]


def test_other_programs_read_the_tables(store, bandit, url):
    append(store, bandit, ask(1, arm=2, at=3.5), tell(1, 0.5, arm=2, at=4.5))
    if url.startswith("sqlite"):
        assert run(url, "PRAGMA journal_mode") == [("wal",)]
    first = bytes([1, 1 + 4]) + struct.pack("<qqdd", 1, 2, 0.0, 3.5)
    second = bytes([2, 1 + 2 + 4]) + struct.pack("<qqdd", 1, 2, 0.5, 4.5)
    assert run(url, "SELECT * FROM brigand_events ORDER BY seq") == [
        (bandit, 1, 1, 1, 2, None, 1, 3.5, "", zlib.crc32(first)),
        (bandit, 2, 2, 1, 2, 0.5, 1, 4.5, "", zlib.crc32(second)),
    ]


CHANGES = ("kind = 3", "step = 2", "arm = 1", "value = 0.25", "at = 4.25", "data = '{}'", "seq = 3")


@pytest.mark.parametrize("changed", [*CHANGES, "counted = NOT counted"])
def test_a_row_that_was_changed_is_noticed_wherever_it_is_read(store, bandit, url, changed):
    append(store, bandit, ask(1, arm=2, at=3.5), tell(1, 0.5, arm=2, at=4.5))
    run(url, f"UPDATE brigand_events SET {changed} WHERE seq = 2")
    wrong = r"line 2 (is not there|of the log is damaged: its checksum does not fit)"
    with store.reading(bandit) as reading:
        reads = [lambda: reading.since(1), lambda: list(reading.pages())]
        if changed not in ("step = 2", "seq = 3"):  # another decision's, or a number that nobody asks for
            reads += [lambda: reading.decisions([1]), lambda: list(reading.history())]
        for read in reads:
            with pytest.raises(StorageError, match=wrong):
                read()


@given(
    kind=st.sampled_from(sorted(CODES)),
    step=st.none() | st.integers(1, 2**53),
    arm=st.integers(0, 10**6),
    value=st.none() | st.floats(allow_nan=False),
    counted=st.booleans(),
    at=st.floats(0, 1e11),
    data=st.text(max_size=9),
)
def test_a_checksum_fits_nothing_else(kind, step, arm, value, counted, at, data):
    fields = [CODES[kind], step, arm, value, counted, at, data]
    crc = checksum(*fields)
    assert fits(crc, *fields)
    for place, other in enumerate([6, (step or 0) + 1, arm + 1, 0.1, not counted, at + 1, data + "x"]):
        changed = [*fields[:place], other, *fields[place + 1 :]]
        assert not fits(crc, *changed) or changed == fields
    for place, strange in itertools.product((0, 1, 2, 3, 5, 6), ("\0x", b"x", [1], 2**70)):
        assert not fits(crc, *fields[:place], strange, *fields[place + 1 :])


def test_what_interrupts_a_statement_is_raised_whatever_the_driver_says_then(store):
    """A driver that is interrupted may fail to clean up, and raise that instead of the interruption."""

    def interrupted(connection):
        try:
            raise KeyboardInterrupt
        finally:
            connection.exec_driver_sql("SELECT nothing FROM nowhere")

    with pytest.raises(KeyboardInterrupt), store.connections.writing() as transaction:
        transaction.call(interrupted)
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:  # the caller's: the statement itself is what fails
        with pytest.raises(StorageError), store.connections.writing() as transaction:
            transaction.call(lambda connection: connection.exec_driver_sql("SELECT nothing FROM nowhere"))
