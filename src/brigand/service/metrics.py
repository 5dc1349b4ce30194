"""Numbers for Prometheus. Labels are bounded: bandits beyond the first hundred are ``"other"``."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

MOST_BANDITS = 100
OTHER = "other"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
CALLS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """What a service counts."""

    def __init__(self) -> None:
        self._registry = all_ = CollectorRegistry()
        self._names: set[str] = set()
        self.asks = Counter("brigand_asks", "Decisions that were returned.", ["bandit"], registry=all_)
        self.tells = Counter(
            "brigand_tells", "Rewards, by what became of them.", ["bandit", "told"], registry=all_
        )
        self.refused = Counter(
            "brigand_refused", "Requests that were refused.", ["bandit", "status"], registry=all_
        )
        self.pending = Gauge(
            "brigand_pending", "Decisions that wait for a reward.", ["bandit"], registry=all_
        )
        self.seconds = Histogram(
            "brigand_request_seconds", "Time to answer.", ["route", "status"], buckets=SECONDS, registry=all_
        )
        self.calls = Histogram(
            "brigand_calls_per_transaction", "Calls that shared a transaction.", buckets=CALLS, registry=all_
        )

    def know(self, name: str) -> None:
        """Let a bandit that is there have a label of its own, while there is room."""
        if len(self._names) < MOST_BANDITS:
            self._names.add(name)

    def label(self, name: str) -> str:
        """Return a bandit's label."""
        return name if name in self._names else OTHER

    def text(self) -> bytes:
        """Return all numbers in Prometheus' format."""
        return generate_latest(self._registry)
