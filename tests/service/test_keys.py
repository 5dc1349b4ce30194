"""Keys: made, used, limited, revoked, expired, and told apart in constant time."""

import hmac
import re
import time

import pytest

import brigand as br
import stores
from brigand.service import keys
from brigand.service.limits import Rate
from brigand.storage.store import open_store
from cli.command import brigand
from service.common import made, served
from strength import runs


def test_the_command_makes_lists_and_revokes_keys(tmp_path):
    done = brigand("key", "create", "--role", "admin", "--label", "of a test", cwd=tmp_path)
    key = done.stdout.splitlines()[-1]
    assert re.fullmatch(keys.FORM, key)
    some = brigand("key", "create", "--role", "read", "--bandit", "a b", "--expires", "0", cwd=tmp_path)
    listed = brigand("key", "list", cwd=tmp_path).stdout
    assert [line.split("\t")[:4] for line in listed.splitlines()] == [
        [key.split("_")[1], "admin", "all bandits", "valid"],
        [some.stdout.split("_")[1], "read", "a b", "expired"],
    ]
    assert "of a test" in listed
    assert brigand("key", "revoke", key.split("_")[1], cwd=tmp_path).returncode == 0
    assert "\trevoked\t" in brigand("key", "list", cwd=tmp_path).stdout
    again = brigand("key", "revoke", key.split("_")[1], cwd=tmp_path)
    assert again.returncode == 2
    assert "unknown key" in again.stderr
    wrong = brigand("key", "create", "--role", "boss", cwd=tmp_path)
    assert (wrong.returncode, "read, decide, admin" in wrong.stderr) == (2, True)


def test_the_store_has_no_key(url):
    made_key = keys.create(url, "admin")
    secret = made_key.split("_", 2)[2]
    assert secret not in repr(stores.rows(url))
    assert len(secret) == 43  # 256 bits
    assert keys.create(url, "admin") != made_key


def test_wrong_keys(url, service):
    first, second = (keys.create(url, "admin") for _ in range(2))
    id, secret = first.split("_", 2)[1:]
    wrong = [
        "",
        "x",
        first[:-1],
        first + "x",
        f"brg_{second.split('_')[1]}_{secret}",
        f"brg_{id}_{'A' * 43}",
        f"brg_000000000000_{secret}",
        first.upper(),
        f"brg_{id}_' OR '1'='1",
    ]
    for key in wrong:
        assert service("GET", "/v1/bandits", key=key).status_code == 401, key
    for header in (first, f"Basic {first}", "Bearer", f"Bearer {first} {first}", "Bearer é"):
        answer = service("GET", "/v1/bandits", key=None, headers={"Authorization": header.encode()})
        assert answer.status_code == 401, header
        assert answer.headers["www-authenticate"] == "Bearer"
    assert service("GET", "/v1/bandits", key=first).status_code == 200


def test_a_revoked_key_works_no_longer_than_a_second(url, monkeypatch):
    monkeypatch.setattr(keys, "FRESH", runs(0.1, keys.FRESH))
    with served(url) as service:
        key = keys.create(url, "read")
        assert service("GET", "/v1/bandits", key=key).status_code == 200  # also a new one, at once
        keys.revoke(url, key.split("_")[1])
        time.sleep(keys.FRESH)
        assert service("GET", "/v1/bandits", key=key).status_code == 401


def test_an_expired_key(url, service, monkeypatch):
    key = keys.create(url, "read", expires=2.0)
    assert service("GET", "/v1/bandits", key=key).status_code == 200
    now = time.time() + 2.0 * keys.DAY
    monkeypatch.setattr(time, "time", lambda: now)
    assert service("GET", "/v1/bandits", key=key).status_code == 401


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 1e9])
def test_impossible_times(url, days):
    with pytest.raises(br.InvalidValueError, match="expires must be"):
        keys.create(url, "read", expires=days)


def test_the_last_use_is_noted_now_and_then(url, service):
    key = keys.create(url, "read")

    def used_at():
        (found,) = (one for one in keys.all_keys(url) if one.id == key.split("_")[1])
        return found.used_at

    assert used_at() is None
    service("GET", "/v1/bandits", key=key)
    first = used_at()
    assert abs(first - time.time()) < 60
    service("GET", "/v1/bandits", key=key)
    assert used_at() == first


def test_secrets_are_compared_by_their_hashes_in_constant_time(url, service, monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((len(one), len(other)))
        return hmac_compare(one, other)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr(keys.hmac, "compare_digest", compare)
    key = keys.create(url, "read")
    service("GET", "/v1/bandits", key=key)
    service("GET", "/v1/bandits", key=f"{key[:-1]}{'A' if key[-1] != 'A' else 'B'}")
    assert compared == [(64, 64)] * 2


def test_a_key_that_is_used_too_often_waits(url):
    with served(url, rate=1.0) as service:
        answers = [service("GET", "/v1/bandits") for _ in range(3)]
        assert [answer.status_code for answer in answers].count(429) >= 1
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        other = keys.create(url, "read")
        assert service("GET", "/v1/bandits", key=other).status_code == 200


def test_tokens_come_back_and_buckets_are_bounded(monkeypatch):
    monkeypatch.setattr("brigand.service.limits.BUCKETS", 2)
    rate = Rate(2.0)
    assert [rate.wait("a", at=0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.wait("a", at=0.5) == 0.0
    for key in "bcd":
        rate.wait(key, at=0.5)
    assert len(rate._buckets) == 2


def test_keys_that_cannot_be_read_let_nobody_in(url, monkeypatch):
    monkeypatch.setattr(keys, "FRESH", runs(0.1, keys.FRESH))
    with served(url) as service:
        path = made(service, "no keys")
        time.sleep(keys.FRESH)

        def fail(store):
            raise br.StorageError("it is away")

        monkeypatch.setattr(keys.service_keys, "keys", fail)
        answer = service("GET", path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "away" not in answer.text


def test_a_store_of_an_older_version_gets_its_table(tmp_path):
    url = f"sqlite:///{tmp_path}/old.db"
    br.Bandit(["a"], "FE-Linear", store=url, name="x").close()
    for table in ("brigand_service_keys", "brigand_keys"):
        stores.run(url, f"DROP TABLE {table}")
    stores.run(url, "UPDATE brigand_schema SET version = 2")
    keys.create(url, "read")
    with open_store(url, create=False):
        assert len(keys.all_keys(url)) == 1
