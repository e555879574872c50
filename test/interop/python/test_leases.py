"""Leases, as a worker holds and loses them."""

import signal
import time

import pytest

from conftest import Watcher, eventually, status, unique


@pytest.fixture
def worker(client):
    with client.register(unique("worker"), "", "1") as agent:
        yield agent


@pytest.fixture
def rival(client):
    with client.register(unique("rival"), "", "1") as agent:
        yield agent


def test_the_holder_acquires_again_as_in_the_quick_start(client, worker):
    """[AK-2.2-6]"""
    task_id = unique("task")
    first = client.acquire_lease(task_id, worker.agent_id)
    with client.acquire_lease(task_id, worker.agent_id) as second:
        assert second.lease.token == first.lease.token + 1
        # The older copy is fenced off.
        assert status(first.renew) == "PERMISSION_DENIED"
        assert status(first.release) == "PERMISSION_DENIED"
        second.renew()
    assert status(second.renew) == "NOT_FOUND"


def test_tokens_grow_over_all_tasks_and_acquisitions(client, worker, rival):
    """[AK-2.2-2]"""
    tokens = []
    for _ in range(5):
        for agent in (worker, rival):
            handle = client.acquire_lease(unique("task"), agent.agent_id)
            tokens.append(handle.lease.token)
            handle.release()
    assert tokens == list(range(tokens[0], tokens[0] + 10))


def test_a_stale_token_is_refused(client, worker, rival):
    """[AK-2.2-12] [AK-2.2-15] [AK-2.0-4]"""
    task_id = unique("task")
    stale = client.acquire_lease(task_id, worker.agent_id, ttl=1)
    eventually(lambda: client.acquire_lease(task_id, rival.agent_id, ttl=30))
    assert status(stale.renew, 10) == "PERMISSION_DENIED"
    assert status(stale.release) == "PERMISSION_DENIED"


def test_a_lease_that_expired_is_gone_and_said_so_once(client, worker):
    """[AK-2.2-13] [AK-2.2-16] [AK-2.2-17] [AK-2.2-20] [AK-2.0-7b]"""
    task_id = unique("task")
    with Watcher(client.watch, ["lease."]) as watcher:
        handle = client.acquire_lease(task_id, worker.agent_id, ttl=1)
        expired = watcher.wait(
            lambda e: e.topic == "lease.expired" and e.payload.task_id == task_id
        )
        assert expired.payload == handle.lease
        late = (expired.timestamp - handle.lease.expires_at).total_seconds()
        assert 0 <= late < 0.25
        assert status(handle.renew) == "NOT_FOUND"
        assert status(handle.release) == "NOT_FOUND"
        topics = [e.topic for e in watcher.events if e.payload.task_id == task_id]
        assert topics == ["lease.acquired", "lease.expired"]


def test_a_lease_ends_with_its_holder(client, rival):
    """[AK-2.2-18] [AK-2.2-13] [AK-2.2-16]"""
    task_id = unique("task")
    with Watcher(client.watch, ["lease."]) as watcher:
        with client.register(unique("mortal"), "", "1") as mortal:
            handle = client.acquire_lease(task_id, mortal.agent_id)
        watcher.wait(lambda e: e.topic == "lease.released" and e.payload.task_id == task_id)
    assert status(handle.renew) == "NOT_FOUND"
    assert status(handle.release) == "NOT_FOUND"
    assert client.acquire_lease(task_id, rival.agent_id) is not None


def test_renewing_without_a_ttl_asks_for_as_long_as_last_time(client, worker):
    """[AK-2.2-10] [AK-2.2-11]"""
    length = lambda lease, since: round((lease.expires_at - since).total_seconds(), 1)
    handle = client.acquire_lease(unique("task"), worker.agent_id, ttl=7)
    acquired = handle.lease.acquired_at
    assert length(handle.lease, acquired) == 7
    token = handle.lease.token
    time.sleep(0.3)
    handle.renew()
    assert 7.2 <= length(handle.lease, acquired) < 9
    handle.renew(100)
    assert 100.2 <= length(handle.lease, acquired) < 102
    handle.renew()
    assert 100.2 <= length(handle.lease, acquired) < 102
    assert handle.lease.token == token
    assert handle.lease.acquired_at == acquired


def test_acquiring_for_nobody_is_refused(client, worker):
    """[AK-2.2-9]"""
    assert status(client.acquire_lease, "t", "0" * 32) == "NOT_FOUND"
    assert status(client.acquire_lease, "", worker.agent_id) == "INVALID_ARGUMENT"
    assert status(client.acquire_lease, "t", "") == "INVALID_ARGUMENT"


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_worker_that_slept_through_its_lease_is_refused(
    daemon, client, rival, start_child, is_taken
):
    """[AK-2.2-12] [AK-2.2-13]"""
    task_id = unique("task")
    child = start_child(daemon.port)
    child.run("names.update(agent=client.register('sleeper', '', '1', ttl=30))")
    child.run(f"names.update(lease=client.acquire_lease({task_id!r}, agent.agent_id, ttl=1))")
    token = child.run("lease.lease.token")
    child.process.send_signal(signal.SIGSTOP)
    if is_taken:
        taken = eventually(lambda: client.acquire_lease(task_id, rival.agent_id, ttl=30))
        assert taken.lease.token > token
    else:
        time.sleep(1.3)
    child.process.send_signal(signal.SIGCONT)
    expected = "PERMISSION_DENIED" if is_taken else "NOT_FOUND"
    assert child.run("lease.renew(30)") == expected
    assert child.run("lease.release()") == expected
