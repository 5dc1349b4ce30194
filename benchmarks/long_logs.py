"""What takes long with a long log, each in a process of its own: seconds, beside a bare scan of the rows.

Also run as a program, with the sources of another version in PYTHONPATH, to compare versions.
"""

import tempfile
from pathlib import Path

from measure import in_a_process

DECISIONS = 1_000_000
BEGIN = f"""
import csv, resource, sqlite3, subprocess, sys, time
import pandas
import brigand as br
path, n = sys.argv[1], {DECISIONS}
folder = path.rpartition("/")[0]
arms = [f"arm {{k}}" for k in range(10)]
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def opened():
    bandit = br.Bandit.open("sqlite:///" + path, "x")
    bandit.ask()
    return bandit
def timed(call):
    before, start = peak(), time.perf_counter()
    call()
    print(time.perf_counter() - start, peak() - before)
"""
FILL = """
with br.Bandit(arms, POLICY, seed=0, horizon=10 * n, store="sqlite:///" + path, name="x") as bandit:
    for _ in range(n // 10_000):
        bandit.tell_many([(d, 0.5 if d.arm == "arm 1" else 0.25) for d in bandit.ask(10_000)])
"""
SCAN = """
rows = sqlite3.connect(path).execute("SELECT * FROM brigand_events ORDER BY bandit_id, seq")
timed(lambda: [None for _ in rows])
"""
COPY = """
log, to = sqlite3.connect(path), sqlite3.connect(folder + "/bare.db")
to.execute("PRAGMA journal_mode = WAL")
made = "SELECT sql FROM sqlite_master WHERE tbl_name = 'brigand_events' AND sql > '' ORDER BY type DESC"
for (statement,) in log.execute(made):
    to.execute(statement)
rows = log.execute("SELECT * FROM brigand_events ORDER BY bandit_id, seq")
def copy():
    while page := rows.fetchmany(10_000):
        to.executemany(f"INSERT INTO brigand_events VALUES ({', '.join('?' * len(page[0]))})", page)
        to.commit()
timed(copy)
"""
PARTS = {
    "a bare scan of the log, 2,000,000 rows": SCAN,
    "a bare scan, and each row inserted elsewhere": COPY,
    "add_arm": "bandit = opened()\ntimed(lambda: bandit.add_arm('new'))",
    "history()": "bandit = opened()\ntimed(bandit.history)",
    "snapshot()": "bandit = opened()\ntimed(bandit.snapshot)",
    "brigand bandit export, CSV": """
command = [sys.executable, "-m", "brigand", "bandit"]
def run(*arguments):
    subprocess.run([*command, *arguments, "--store", path], check=True, capture_output=True)
    global peak
    peak = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
timed(lambda: run("export", "x", folder + "/log.csv", "--force"))
""",
    "brigand bandit import, CSV": """
command = [sys.executable, "-m", "brigand", "bandit"]
name = str(time.time())
br.Bandit(arms, POLICY, seed=0, horizon=10 * n, store="sqlite:///" + path, name=name).close()
with open(folder + "/past.csv", "w", newline="") as file:
    csv.writer(file).writerows([("arm", "reward"), *((arms[i % 10], i % 7 / 7) for i in range(n))])
def run():
    arguments = ["import", name, folder + "/past.csv", "--store", path]
    subprocess.run([*command, *arguments], check=True, capture_output=True)
    global peak
    peak = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
timed(run)
""",
    "a bandit of 100,000 arms": """
arms = [f"arm {k}" for k in range(100_000)]
timed(lambda: br.Bandit(arms, POLICY, horizon=n, store=f"sqlite:///{folder}/arms.db", name=str(time.time())))
""",
    "a list of 10,000 bandits": """
from brigand.live.listing import bandits
import os, sqlite3
url = f"sqlite:///{folder}/many.db"
if not os.path.exists(folder + "/many.db"):
    br.Bandit(arms, POLICY, horizon=n, store=url, name="0").close()
    connection = sqlite3.connect(folder + "/many.db")
    for i in range(2, 10_001):
        connection.execute(
            "INSERT INTO brigand_bandits SELECT ?, ?, uid, definition, created_at FROM brigand_bandits "
            "WHERE id = 1", (i, str(i)))
        connection.execute(
            "INSERT INTO brigand_events SELECT ?, seq, kind, step, arm, value, counted, at, data, crc "
            "FROM brigand_events WHERE bandit_id = 1", (i,))
        connection.execute(
            "INSERT INTO brigand_snapshots SELECT ?, seq, state FROM brigand_snapshots "
            "WHERE bandit_id = 1", (i,))
    connection.commit()
    connection.close()
timed(lambda: bandits(url))
""",
}


def run(code, path, policy="FE-Linear"):
    code = BEGIN + f"POLICY = {policy!r}\n" + code
    return in_a_process(code, path)


def measured():
    """Return seconds and megabytes of each part."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.db"
        run(FILL, path)
        found = {name: run(code, path) for name, code in PARTS.items()}
        replayed = Path(folder) / "replayed.db"
        run(FILL, replayed, "LB-SDA-LM")
        found["add_arm, a policy that replays"] = run(PARTS["add_arm"], replayed, "LB-SDA-LM")
    return found


def report(out):
    found = measured()
    (base, _) = next(iter(found.values()))
    out.table(
        f"A log of {DECISIONS:,} decisions with their rewards, on SQLite: seconds",
        ["", "seconds", "ratio to the scan", "megabytes"],
        [[name, f"{t:.2f}", f"{t / base:.2f}", f"{mb:.0f}"] for name, (t, mb) in found.items()],
    )


if __name__ == "__main__":
    for name, (seconds, megabytes) in measured().items():
        print(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB", flush=True)
