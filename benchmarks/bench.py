"""Speed and memory, as ratios to baselines of the same run.

Run by ``make bench``; one core. Times are CPU time, medians of repetitions in turn: on a shared machine,
compare ratios, not times.
"""

import argparse
import os

import dashboards
import evaluating
import fleets
import growth
import keys
import late_rewards
import long_logs
import many_pieces
import others
import over_http
import processes
import reading
import replays
import segments
import serving
import skipping
import speed
from measure import Report

import brigand as br
import stores

PARTS = (
    *("speed", "plain", "growth", "skip", "late", "peers", "start", "memory"),
    *("live", "stores", "segments", "long", "studies", "logs", "evaluate", "replay"),
    *("http", "keys", "dashboard", "fleet"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run")
    parser.add_argument("--policies", nargs="+", metavar="NAME", help="substrings of names to time")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--markdown", action="store_true", help="print as Markdown")
    options = parser.parse_args()
    out = Report(options.markdown)
    parts = {
        "speed": lambda: speed.report(out, options.repetitions, options.policies),
        "plain": lambda: speed.report_plain(out),
        "growth": lambda: growth.report(out, options.repetitions),
        "skip": lambda: skipping.report(out, options.repetitions),
        "late": lambda: late_rewards.report(out, options.repetitions),
        "peers": lambda: others.report(out, options.repetitions),
        "evaluate": lambda: evaluating.report(out),
        "start": lambda: processes.report_start(out),
        "memory": lambda: processes.report_memory(out),
        "live": lambda: serving.report(out),
        "stores": lambda: stores.report(out),
        "long": lambda: long_logs.report(out),
        "studies": lambda: many_pieces.report(out),
        "logs": lambda: reading.report(out),
        "replay": lambda: replays.report(out),
        "http": lambda: over_http.report(out),
        "segments": lambda: segments.report(out),
        "keys": lambda: keys.report(out),
        "fleet": lambda: fleets.report(out),
        "dashboard": lambda: dashboards.report(out),
    }
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    out.line(f"Brigand {br.__version__}; the machine's load (1, 5, 15 minutes) at the start: {load}.")
    for part in PARTS:
        if part in options.only:
            parts[part]()


if __name__ == "__main__":
    main()
