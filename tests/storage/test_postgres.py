"""What is PostgreSQL's alone: its URL, its failures, a pool that waits, and sockets that a child inherits."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest
from sqlalchemy.engine import make_url

import brigand as br
from brigand.errors import MissingPackageError, StorageError
from brigand.storage import postgres as module
from brigand.storage.events import ASK, Event
from brigand.storage.records import Writing
from brigand.storage.store import open_store
from stores import run, urls
from strength import runs

FE = br.ForcedExploration(br.Linear())


url = urls(["postgresql"])


def with_query(url, **options):
    return make_url(url).update_query_dict(options).render_as_string(hide_password=False)


def ask(step):
    return Event(ASK, step, 0, None, True, 0.0, "")


def append(store, bandit):
    with store.writing(bandit) as writing:
        last = writing.last()
        writing.append([ask(last + 1)], last)


def test_a_url_may_name_the_driver_or_not(url):
    plain = url.replace("+psycopg", "")
    assert plain != url
    with open_store(plain, create=True) as store, open_store(url, create=False) as same:
        assert store.connections is same.connections
    with br.Bandit(["a", "b"], FE, store=url, name="x") as bandit, br.Bandit.open(plain, "x") as other:
        bandit.tell(other.ask(), 0.5)
        assert other.summary()["told"].sum() == 1


def test_what_cannot_be_opened_says_why_and_shows_no_password(url):
    elsewhere = make_url(url).set(database="none")
    secret = make_url(url).set(username="nobody", password="hidden")
    for wrong, message in (
        (with_query(url, colour="red"), "cannot be read or written: invalid connection option"),
        (with_query(url, sslmode="strange"), "sslmode"),
        (with_query(url, host="/nowhere"), "cannot be reached: .*No such file"),
        (elsewhere.render_as_string(False), 'cannot be reached: .*"none" does not exist'),
        (secret.render_as_string(False), "cannot be reached: .*nobody"),
        (with_query(elsewhere.render_as_string(False), password="hidden"), "cannot be reached"),
    ):
        for create in (True, False):
            with pytest.raises(StorageError, match=message) as caught:
                open_store(wrong, create=create)
            assert "hidden" not in str(caught.value)
            assert "\n" not in str(caught.value)


def test_a_database_without_bandits_is_left_as_it_is(url):
    run(url, "CREATE TABLE theirs (x int)")
    with pytest.raises(StorageError, match="holds no bandits"):
        br.Bandit.open(url, "x")
    assert run(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()") == [("theirs",)]
    br.Bandit(["a"], FE, store=url, name="x").close()
    assert run(url, "SELECT count(*) FROM theirs") == [(0,)]


def test_without_psycopg_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'brigand\[postgres\]'"):
        open_store("postgresql://nobody@localhost/x", create=True)


def test_bandits_do_not_wait_for_each_other_and_one_is_written_by_one(url):
    with open_store(url, create=True, busy_timeout=0.2) as store:
        first, second = (store.create(name, "", "", [], None, 0.0).id for name in "ab")
        with store.writing(first):
            append(store, second)
            store.create("c", "", "", [], None, 0.0)
            with pytest.raises(StorageError, match=r"is locked: others have kept it for 0\.2 seconds"):
                append(store, first)
        append(store, first)


def test_a_pool_waits_and_fails_no_call_for_lack_of_a_connection(url):
    """Many bandits, and many more threads than connections."""
    url = with_query(url, application_name="many")
    made = [br.Bandit(["a", "b"], FE, store=url, name=f"{number}", seed=0) for number in range(runs(12, 30))]
    failures = []

    def use(bandit):
        try:
            for _ in range(5):
                bandit.tell(bandit.ask(), 1.0)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=use, args=(bandit,)) for bandit in made for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    there = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'many'"
    assert run(url, there)[0][0] <= module.POOL_SIZE + 1  # one asks
    for bandit in made:
        assert bandit.summary()["told"].sum() == 10
        bandit.close()


@pytest.fixture
def few(url):
    """The URL of the same store for a user who may have one connection."""
    user = make_url(url).query["options"].rpartition("=")[2] + "_few"
    run(url, f"CREATE ROLE {user} LOGIN CONNECTION LIMIT 1")
    run(url, f"GRANT ALL ON SCHEMA {user.removesuffix('_few')} TO {user}")
    yield make_url(url).set(username=user).render_as_string(hide_password=False)
    run(url, f"DROP OWNED BY {user}")
    run(url, f"DROP ROLE {user}")


@pytest.mark.full
def test_a_server_that_has_no_connection_left_is_waited_for(few):
    with open_store(few, create=True) as store:
        bandit = store.create("x", "", "", [], None, 0.0).id
        timer = threading.Timer(0.5, store.close)
        full = pytest.raises(StorageError, match=r"cannot be reached: .*too many connections")
        with store.reading(bandit), full:
            open_store(few, create=False, busy_timeout=0.1)
        timer.start()
        start = time.monotonic()
        with open_store(few, create=False, busy_timeout=30.0) as other:
            assert other.names() == ["x"]
        assert time.monotonic() - start > 0.3
        timer.join()


def test_connections_that_the_server_closes_are_replaced(url, postgres):
    named = with_query(url, application_name="closed")
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'closed'"
    with postgres.connect() as other, br.Bandit(["a", "b"], FE, store=named, name="x", seed=0) as bandit:
        bandit.ask()
        assert other.execute(cut).fetchall()
        time.sleep(0.1)
        assert bandit.ask().step == 2

        def cut_off():
            with bandit._backend.writing() as writing:
                last = writing.last()
                other.execute(cut)
                time.sleep(0.1)
                writing.append([ask(3)], last)

        # psycopg 3.2.1 passes on what the server says, but not its SQLSTATE.
        with pytest.raises(StorageError, match=r"(meanwhile|reached): .*terminating connection"):
            cut_off()
        assert bandit.ask().step == 3
        assert len(bandit.history()) == 3


@pytest.mark.full
def test_a_child_lets_go_of_what_its_parent_holds(url):
    """A parent that is killed in a transaction leaves no lock, though its child lives on."""
    code = """
    import os, signal, sys, time
    import brigand as br
    url = sys.argv[1]
    bandit = br.Bandit.open(url, "x")
    with bandit._backend.writing() as writing:
        child = os.fork()
        if not child:
            print(bandit._backend._store.names(), flush=True)
            other = br.Bandit.open(url, "x")
            time.sleep(0.5)  # the parent is gone meanwhile
            print(other.ask().step, bandit.ask().step, flush=True)
            os._exit(0)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    br.Bandit(["a", "b"], FE, store=url, name="x", seed=0).close()
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), url], stdout=subprocess.PIPE, text=True
    )
    assert process.communicate(timeout=60)[0].splitlines() == ["['x']", "1 2"]


def test_a_commit_is_synced_by_default(url):
    run(url, "ALTER ROLE CURRENT_USER SET synchronous_commit = off")
    try:
        for setting, level in ((None, "on"), ("OFF", "off"), ("NORMAL", "off"), ("EXTRA", "on")):
            options = {} if setting is None else {"synchronous": setting}
            with open_store(url, create=True, **options) as store, store.connections.reading() as transaction:
                found = transaction.call(
                    lambda connection: connection.exec_driver_sql("SHOW synchronous_commit").scalar_one()
                )
                assert found == level
    finally:
        run(url, "ALTER ROLE CURRENT_USER RESET synchronous_commit")


def test_a_reader_writes_nothing(url):
    with open_store(url, create=True) as store:
        bandit = store.create("x", "", "", [], None, 0.0).id
        with pytest.raises(StorageError, match="read-only"), store.reading(bandit) as reading:
            Writing(reading._transaction, bandit).append([ask(1)], 0)
