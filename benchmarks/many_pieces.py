"""Studies of many pieces: 20 policies on 111 problems, and many small pieces on threads and on Dask.

With ``PYTHONPATH`` at the source of an earlier version, ``python benchmarks/many_pieces.py`` measures that.
"""

import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import in_a_process

POLICIES, PROBLEMS = 20, 111
BEGIN = """
import os, resource, sys, time
from pathlib import Path
import brigand as br
from brigand.studies import work
from brigand.studies.run import plan_study, run_study
folder = Path(sys.argv[1])
WHO = resource.RUSAGE_SELF
def timed(call):
    start, before = time.perf_counter(), sum(os.times()[:4])
    call()
    used = sum(os.times()[:4]) - before
    print(time.perf_counter() - start, used, resource.getrusage(WHO).ru_maxrss / 1024)
"""
SMALL = "work.STEPS = 100 * 16\n"
MANY = f"""
text = "name: many\\nhorizon: 100\\nreplications: 10\\nenvironments:\\n"
for i in range({PROBLEMS}):
    of = f"{{{{family: bernoulli, arms: 3, instances: 10, seed: {{100 * i}}}}}}"
    text += f"  - {{{{name: problem {{i}}, random: {{of}}}}}}\\n"
windows = ", ".join(str(5 + 3 * i) for i in range({POLICIES}))
text += f"policies:\\n  - {{{{policy: FE-Linear, name: FE, sweep: {{{{window: [{{windows}}]}}}}}}}}\\n"
(folder / "study.yaml").write_text(text)
"""
COMMAND = """
import subprocess
WHO = resource.RUSAGE_CHILDREN
def command(*arguments):
    subprocess.run([sys.executable, "-m", "brigand", *arguments], check=True, capture_output=True)
"""
PARTS = {
    "to read all files": "timed(lambda: [path.read_bytes() for path in (folder / 'out').rglob('*.*')])",
    "run, nothing to do": SMALL + "timed(lambda: plan_study(folder / 'study.yaml', folder / 'out'))",
    "br.load": "timed(lambda: br.load(folder / 'out'))",
    "summary()": "study = br.load(folder / 'out')\ntimed(study.summary)",
    "brigand compare": COMMAND + "timed(lambda: command('compare', str(folder / 'out')))",
    "brigand report": COMMAND + "timed(lambda: command('report', str(folder / 'out')))",
}
SHARED = """
(folder / "small.yaml").write_text(\"\"\"name: small
horizon: 20000
replications: RUNS
environments: [{random: {family: bernoulli, arms: 3, instances: INSTANCES}}]
policies: [FE-Exp]
\"\"\")
if __name__ == "__main__":
    work.STEPS = 20000
    timed(lambda: run_study(folder / "small.yaml", folder / str([*HOW, RUNS]), **HOW))
"""


def run(code, folder):
    return in_a_process(BEGIN + code, folder)


def measured():
    """Return seconds and megabytes of each part."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        begin = run(MANY + SMALL + "timed(lambda: run_study(folder / 'study.yaml', folder / 'out'))", folder)
        files = sum(path.is_file() for path in (folder / "out").rglob("*"))
        print(f"{files:,} files", file=sys.stderr)
        found = {"brigand run": begin} | {name: run(code, folder) for name, code in PARTS.items()}
        sizes, hows = ((1, 2), (100, 20)), ({"workers": 2}, {"dask": "local:2"})
        for (instances, runs), how in itertools.product(sizes, hows):
            code = SHARED.replace("HOW", repr(how)).replace("RUNS", str(runs))
            code = code.replace("INSTANCES", str(instances))
            script = folder / "shared.py"
            script.write_text(BEGIN + code, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, script, folder], capture_output=True, text=True, check=True
            )
            found[f"{instances * runs:,} pieces of 2 ms, {how}"] = list(map(float, done.stdout.split()))
        print(f"(all took {time.perf_counter() - start:.0f} s)", file=sys.stderr)
    return found


def report(out):
    found = measured()
    _, base, _ = found["to read all files"]
    out.table(
        f"A study of 19,980 pieces ({POLICIES} policies, {PROBLEMS} problems)",
        ["", "seconds", "of all CPUs", "ratio to reading the files", "megabytes"],
        [
            [name, f"{wall:.2f}", f"{cpu:.2f}", f"{cpu / base:.2f}", f"{mb:.0f}"]
            for name, (wall, cpu, mb) in found.items()
        ],
    )


if __name__ == "__main__":
    for name, (wall, cpu, megabytes) in measured().items():
        print(f"{name}: {wall:.2f} s, {cpu:.2f} s of all CPUs, {megabytes:.0f} MB", flush=True)
