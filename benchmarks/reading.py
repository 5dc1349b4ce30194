"""Reading logs: CPU time as ratios to a bare read by the same library, and peak memory."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import in_a_process
from pyarrow import csv, parquet

ROWS = 10_000_000
FEW = 1_000_000
MEASURED = """
import sys, time
from pathlib import Path
path = sys.argv[1]
{before}
start = time.process_time()
{read}
seconds = time.process_time() - start
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
print(seconds, int(peak) / 1024)
"""
CSV = "for batch in csv.open_csv(path): pass"
PARQUET = "for batch in parquet.ParquetFile(path).iter_batches(1 << 17): pass"
OURS = ("import brigand as br; br.Log", "log = br.Log.read(path)")
TABLES = {
    "CSV": (ROWS, "log.csv", ("from pyarrow import csv", CSV), OURS),
    "CSV, gzip": (FEW, "few.csv.gz", ("from pyarrow import csv", CSV), OURS),
    "Parquet": (ROWS, "log.parquet", ("from pyarrow import parquet", PARQUET), OURS),
    "CSV, without pyarrow": (
        FEW,
        "few.csv",
        ("import csv", "with open(path, newline='') as file:\n    for row in csv.reader(file): pass"),
        ("sys.modules['pyarrow'] = None; import brigand as br; br.Log", OURS[1]),
    ),
}


def report(out):
    """Print seconds and megabytes of `Log.read`, and of a read that keeps nothing."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for name, (n, file, *codes) in TABLES.items():
            path = Path(folder) / file
            (bare, least), (ours, peak) = (
                in_a_process(MEASURED.format(before=before, read=read), path) for before, read in codes
            )
            cells = (f"{bare:.2f}", f"{ours:.2f}", f"{ours / bare:.1f}", f"{least:.0f}", f"{peak:.0f}")
            rows.append([name, f"{n:,}", *cells])
    out.table(
        "a log of time, arm, reward, propensity, K = 10; bare: the same library reads and keeps nothing",
        ["", "rows", "bare, s", "Log.read, s", "ratio", "bare, MB", "Log.read, MB"],
        rows,
    )


def write(folder):
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.integers(1, 200_000, ROWS)).astype("timedelta64[us]")
    names = pa.array([f"arm {k}" for k in range(10)])
    table = pa.table(
        {
            "time": pa.array(np.datetime64("2026-01-01", "us") + steps).cast(pa.timestamp("us", "UTC")),
            "arm": pa.DictionaryArray.from_arrays(rng.integers(0, 10, ROWS, np.int32), names).cast(
                pa.string()
            ),
            "reward": rng.integers(0, 2, ROWS),
            "propensity": np.round(rng.uniform(0.02, 1, ROWS), 6),
        }
    )
    parquet.write_table(table, folder / "log.parquet")
    csv.write_csv(table, folder / "log.csv")
    csv.write_csv(table.slice(0, FEW), folder / "few.csv")
    with pa.output_stream(folder / "few.csv.gz", compression="gzip") as file:
        csv.write_csv(table.slice(0, FEW), file)
