"""What needs a process of its own: start-up, and peak memory."""

import statistics
import subprocess
import sys

START = """
import time
import brigand as br
start = time.perf_counter()
environment = br.random_environment("bernoulli", 10, 1000, seed=1)
br.simulate(environment, {"FE": br.ForcedExploration()}, 1000, 1)
print(time.perf_counter() - start)
"""

NUMBA = "import time; start = time.perf_counter(); import numba; print(time.perf_counter() - start)"

MEMORY = """
from pathlib import Path
import brigand as br
names = ["FE-Exp", "FE-Linear", "FE-Constant", "UCB1", "TS-Beta"]
environment = br.random_environment("bernoulli", 10, 100_000, seed=1)
br.simulate(environment, {name: br.CATALOGUE[name] for name in names}, 100_000, REPLICATIONS)
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(int(peak) / 1024)
"""


def process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def report_start(out):
    """Print how long the first result takes in a new process, after the import and without compiling."""
    process(START)
    ours = statistics.median(process(START) for _ in range(5))
    theirs = statistics.median(process(NUMBA) for _ in range(5))
    out.line(
        f"A new process, from after `import brigand` to the first result of a policy in the compile cache: "
        f"{ours:.2f} s, {ours / theirs:.1f} times `import numba` ({theirs:.2f} s)."
    )


def report_memory(out):
    """Print the peak memory of a large simulation, beside that of one replication of it."""
    if sys.platform != "linux":  # ru_maxrss is inherited from the parent process
        out.line("Memory: measured on Linux only.")
        return
    process(MEMORY.replace("REPLICATIONS", "1"))
    one = process(MEMORY.replace("REPLICATIONS", "1"))
    peak = process(MEMORY.replace("REPLICATIONS", "1000"))
    out.line(
        f"Five policies, K = 10, T = 100,000, 1000 replications: peak {peak:.0f} MB, "
        f"{peak / one:.1f} times that of one replication ({one:.0f} MB)."
    )
