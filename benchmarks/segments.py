"""Very many segments of one bandit in an SQLite file: seconds, bytes, and beside one bandit."""

import tempfile

from measure import in_a_process

SEGMENTS = 100_000
ALONE = 2_000
CODE = """
import os, sys, time
import brigand as br
url, n, alone = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given = dict(arms=["red", "green", "blue"], policy="FE-Linear", store="sqlite:///" + url)
def each(count, call):
    wall, cpu = time.perf_counter(), time.process_time()
    for i in range(count):
        call(i)
    print((time.perf_counter() - wall) / count, (time.process_time() - cpu) / count)
def memory():
    with open("/proc/self/statm") as file:
        print(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
def make(i):
    with br.Bandit(**given, name=f"alone {i}") as bandit:
        bandit.ask()
br.Bandit(**given, name="warm").ask()
each(alone, make)
one = br.Bandit(**given, name="one")
one.ask()
each(alone, lambda i: one.ask())
shop = br.Bandits(**given, name="shop", segments=["item"])
memory()
each(n, lambda i: shop.ask(f"item {i}"))
memory()
each(n, lambda i: shop.ask(f"item {i * 7919 % n}"))
each(1, lambda i: shop.segments())
each(1, lambda i: shop.summary())
print(sum(os.path.getsize(url + end) for end in ("", "-wal")))
"""


def report(out):
    with tempfile.TemporaryDirectory() as folder:
        found = in_a_process(CODE, f"{folder}/shop.db", SEGMENTS, ALONE)
    made, made_cpu, ask, ask_cpu, before, first, first_cpu, after, again, again_cpu, *rest = found
    names, _, summary, _, size = rest
    table = [
        ["a bandit alone: make, ask, close", ALONE, f"{1e3 * made:.2f}", f"{1e3 * made_cpu:.2f}"],
        ["a segment: make, ask", SEGMENTS, f"{1e3 * first:.2f}", f"{1e3 * first_cpu:.2f}"],
        ["an ask of one bandit that is open", ALONE, f"{1e3 * ask:.2f}", f"{1e3 * ask_cpu:.2f}"],
        ["an ask of a segment that is closed", SEGMENTS, f"{1e3 * again:.2f}", f"{1e3 * again_cpu:.2f}"],
    ]
    out.table(
        "Segments in an SQLite file, milliseconds of each",
        ["", "number", "elapsed", "processor"],
        [[name, f"{number:,}", *times] for name, number, *times in table],
    )
    grown, each = (after - before) / 1e6, size / SEGMENTS / 1e3
    out.line(
        f"{SEGMENTS:,} segments: {names:.2f} s for their list, {summary:.0f} s for the summary of all; "
        f"the process grew by {grown:.0f} MB; the file has {each:.1f} kB a segment."
    )
