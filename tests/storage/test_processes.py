"""Several processes on one file: they take turns, die, fork, and meet a full disk."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from brigand.errors import StorageError
from brigand.storage.events import ASK, Event
from brigand.storage.store import open_store
from stores import FULL_KINDS, urls
from strength import runs

url = urls(FULL_KINDS)
HEAD = """
import os, sys, time
from brigand.errors import StorageError
from brigand.storage.events import ASK, TELL, Event
from brigand.storage.store import open_store

url = sys.argv[1]

def ask(step, data=""):
    return Event(ASK, step, 0, None, True, 0.0, data)

def append(store, data=""):
    with store.writing(1) as writing:
        last = writing.last()
        writing.append([ask(last + 1, data)], last)

def say(text):
    print(text, flush=True)
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")


def start(url, code):
    command = [sys.executable, "-W", "error", "-c", HEAD + textwrap.dedent(code), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(*processes):
    try:
        outputs = [process.communicate(timeout=60) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert (process.returncode, errors) == (0, "")
    return [out.split() for out, _ in outputs]


@pytest.fixture
def made(url):
    with open_store(url, create=True) as store:
        store.create("x", "", "", [], None, 0.0)
    return url


@pytest.fixture
def made_file(file_url):
    with open_store(file_url, create=True) as store:
        store.create("x", "", "", [], None, 0.0)
    return file_url


def steps(url):
    with open_store(url, create=False) as store, store.reading(1) as reading:
        return [event.step for event in reading.since(0)]


def test_processes_take_turns_and_a_reader_sees_whole_transactions(made):
    n = runs(60, 200)
    code = f"""
    with open_store(url, create=False, synchronous="OFF") as store:
        for _ in range({n}):
            with store.writing(1) as writing:
                last = writing.last()
                step = last // 2 + 1
                writing.append([ask(step)], last)
                writing.append([Event(TELL, step, 0, 1.0, True, 0.0, "")], last + 1)
    """
    processes = [start(made, code) for _ in range(4)]
    seen = [0]
    with open_store(made, create=False) as store:
        while any(process.poll() is None for process in processes):
            with store.reading(1) as reading:
                last, events = reading.last(), reading.since(seen[-1])
                assert last == seen[-1] + len(events) == 2 * reading.steps()
            seen.append(last)
            time.sleep(0.005)
    finish(*processes)
    assert seen == sorted(seen)
    assert len(set(seen)) > runs(3, 10)  # it read while they wrote
    assert steps(made) == [step for step in range(1, 4 * n + 1) for _ in range(2)]


def test_processes_that_create_one_file_at_once_all_succeed(url, tmp_path):
    gate = tmp_path / "gate"
    code = f"""
    say("ready")
    while not os.path.exists({str(gate)!r}):
        pass
    with open_store(url, create=True) as store:
        store.create(str(os.getpid()), "", "", [], None, 0.0)
    """
    processes = [start(url, code) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    gate.touch()
    finish(*processes)
    with open_store(url, create=False) as store:
        assert store.names() == sorted(str(process.pid) for process in processes)


def test_a_writer_that_is_killed_leaves_no_data_and_no_lock(made):
    code = """
    store = open_store(url, create=False)
    append(store)
    with store.writing(1) as writing:
        writing.append([ask(step) for step in range(2, 5000)], 1)
        writing.save(4999, "{}")
        say("inside")
        time.sleep(60)
    """
    process = start(made, code)
    assert process.stdout.readline() == "inside\n"
    with open_store(made, create=False, busy_timeout=0.05) as store:
        with pytest.raises(StorageError, match="is locked"), store.writing(1):
            pass
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        with store.writing(1) as writing:
            assert writing.last() == 1
            assert writing.snapshot() is None
            writing.append([Event(ASK, 2, 0, None, True, 0.0, "")], 1)
    assert steps(made) == [1, 2]


def test_a_process_that_is_killed_loses_nothing_that_it_finished(made):
    code = """
    store = open_store(url, create=False)
    for step in range(1, 100_000):
        append(store)
        say(step)
    """
    process = start(made, code)
    said = [process.stdout.readline() for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.readlines()  # `communicate` would lose what `readline` has read ahead
    process.communicate()
    done = sum(line.endswith("\n") for line in said)
    assert steps(made) in [list(range(1, done + extra + 1)) for extra in (0, 1)]


def test_a_child_goes_on_with_the_store_of_its_parent(made):
    code = """
    store = open_store(url, create=False)
    append(store)
    children = []
    for _ in range(3):
        if not (child := os.fork()):
            for _ in range(20):
                append(store)
            time.sleep(0.3)  # the parent closes its connections meanwhile, and must not take the log along
            for _ in range(20):
                append(store)
            store.close()
            os._exit(0)
        children.append(child)
        append(store)
    store.close()
    time.sleep(0.1)
    open_store(url, create=False).close()
    for child in children:
        say(os.waitpid(child, 0)[1])
    """
    assert finish(start(made, code)) == [["0", "0", "0"]]
    assert steps(made) == list(range(1, 125))


def test_a_child_has_locks_of_its_own(made_file):
    code = """
    store = open_store(url, create=False)
    store.names()
    if not os.fork():
        with open("/proc/locks") as file:
            before = file.read().split()
        store.names()
        with open("/proc/locks") as file:
            say(file.read().split().count(str(os.getpid())) - before.count(str(os.getpid())))
        store.close()
        os._exit(0)
    os.wait()
    store.close()
    """
    if not os.path.exists("/proc/locks"):
        pytest.skip("Linux only")
    assert finish(start(made_file, code)) == [["2"]]  # of the database and of its shared memory


def test_a_fork_in_a_transaction_cannot_use_it_and_changes_nothing(made_file):
    code = """
    store = open_store(url, create=False)
    child = None
    try:
        with store.writing(1) as writing:
            writing.append([ask(1)], 0)
            child = os.fork()
            if not child:
                try:
                    writing.append([ask(2)], 1)
                except StorageError as error:
                    say("belongs to the parent" in str(error))
    except StorageError as error:
        say("belongs to the parent" in str(error))
    if child == 0:
        for attempt in (store.names, lambda: open_store(url, create=False)):
            try:
                attempt()
            except StorageError as error:
                say("fork while no transaction is open" in str(error))
        store.close()
        os._exit(0)
    os.wait()
    append(store)
    store.close()
    """
    assert finish(start(made_file, code)) == [["True"] * 4]
    assert steps(made_file) == [1, 2]


@pytest.mark.full
def test_a_fork_beside_threads_that_write_is_told_so(made_file):
    code = """
    import threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, for any fork beside threads
    holding, waiting, idle = (open_store(url, create=False) for _ in range(3))
    release = threading.Event()

    def hold():
        with holding.writing(1):
            release.wait()

    threads = [threading.Thread(target=hold), threading.Thread(target=append, args=(waiting,))]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    child = os.fork()
    if not child:
        for store in (holding, waiting, idle):
            try:
                append(store)
            except StorageError as error:
                say("fork while no transaction is open" in str(error))
        os._exit(0)
    os.waitpid(child, 0)
    release.set()
    for thread in threads:
        thread.join()
    if not os.fork():
        append(idle)
        os._exit(0)
    os.wait()
    for store in (holding, waiting, idle):
        append(store)
        store.close()
    """
    assert finish(start(made_file, code)) == [["True"] * 3]
    assert steps(made_file) == [1, 2, 3, 4, 5]


def test_a_full_disk_is_reported_and_the_store_goes_on_once_there_is_room(made_file):
    code = """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = open_store(url, create=False)
    append(store)
    path = url.removeprefix("sqlite:///")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    for _ in range(2):
        try:
            append(store, "x" * 1_000_000)
        except StorageError as error:
            say(path in str(error) and "cannot be" in str(error))
    with store.reading(1) as reading:
        say(reading.last())
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    append(store, "x" * 1_000_000)
    store.close()
    """
    assert finish(start(made_file, code)) == [["True", "True", "1"]]
    assert steps(made_file) == [1, 2]
