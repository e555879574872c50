"""The task queue, which no test of the peer covers."""

import threading
import time

import pytest

from agentkeeper import TaskStatus
from conftest import Background, Watcher, eventually, status, unique


@pytest.fixture
def queue(client):
    """A tool of its own, so that no other test's tasks are claimed; and workers that have it."""
    return Queue(client)


class Queue:
    def __init__(self, client):
        self.client = client
        self.tool = unique("tool")

    def worker(self, ttl=30):
        return self.client.register(unique("worker"), "", "1", tools=[self.tool], ttl=ttl)

    def create(self, input=b"", **options):
        return self.client.create_task("work", input, required_tools=[self.tool], **options)


def test_a_claim_blocks_until_there_is_a_task(client, queue):
    """[AK-2.5-3] [AK-2.5-7] [AK-2.5-8] [AK-1.4-10]"""
    with queue.worker() as worker:
        claim = Background(client.claim_task, worker.agent_id)
        time.sleep(0.3)
        assert claim.is_waiting
        created = queue.create(b"\x00\xff", max_retries=3, ttl=9)
        assert created.status == TaskStatus.PENDING
        assert created.claimed_at is None
        task = claim.join().answer
        assert task.id == created.id
        assert task.status == TaskStatus.CLAIMED
        assert task.claimed_by_agent_id == worker.agent_id
        assert task.input == b"\x00\xff"
        assert task.max_retries == 3
        assert task.claimed_at >= task.created_at
        assert task.completed_at is None


def test_tasks_come_in_order_and_each_to_one(client, queue):
    """[AK-2.5-9]"""
    with queue.worker() as worker:
        created = [queue.create().id for _ in range(5)]
        assert [client.claim_task(worker.agent_id).id for _ in range(5)] == created
        claims = []
        for _ in range(3):
            claims.append(Background(client.claim_task, worker.agent_id))
            time.sleep(0.1)
        for claim in claims:
            task = queue.create()
            assert claim.join().answer.id == task.id


def test_only_who_has_the_tools_gets_the_task(client, queue):
    """[AK-2.5-6]"""
    more = unique("more")
    both = client.register(unique("both"), "", "1", tools=[queue.tool, more])
    with queue.worker() as plain, both:
        waiting = Background(client.claim_task, plain.agent_id)
        time.sleep(0.1)
        task = client.create_task("hard", required_tools=[queue.tool, more])
        assert client.claim_task(both.agent_id).id == task.id
        assert waiting.is_waiting
        easy = queue.create()
        assert waiting.join().answer.id == easy.id


def test_completing(client, queue):
    """[AK-2.5-11] [AK-2.5-12] [AK-2.5-16] [AK-2.5-19]"""
    with queue.worker() as worker, queue.worker() as other:
        task = queue.create()
        client.claim_task(worker.agent_id)
        client.complete_task(task.id, worker.agent_id, b"out")
        done = client.get_task(task.id)
        assert (done.status, done.output) == (TaskStatus.COMPLETED, b"out")
        assert done.claimed_by_agent_id == worker.agent_id
        assert done.completed_at >= done.claimed_at
        # A repeat is a lost reply; anything else is a mistake.
        client.complete_task(task.id, worker.agent_id, b"out")
        assert status(client.complete_task, task.id, worker.agent_id, b"x") == "FAILED_PRECONDITION"
        assert (
            status(client.complete_task, task.id, other.agent_id, b"out") == "FAILED_PRECONDITION"
        )
        assert status(client.fail_task, task.id, worker.agent_id) == "FAILED_PRECONDITION"
        assert client.get_task(task.id) == done


def test_failing_is_retried_then_final(client, queue):
    """[AK-2.5-1] [AK-2.5-14] [AK-2.5-19]"""
    with queue.worker() as worker:
        task = queue.create(max_retries=2)
        for attempt in range(3):
            claimed = client.claim_task(worker.agent_id)
            assert (claimed.id, claimed.retry_count) == (task.id, attempt)
            client.fail_task(task.id, worker.agent_id, f"attempt {attempt}")
            now = client.get_task(task.id)
            assert now.failure_reason == f"attempt {attempt}"
            if attempt < 2:
                assert now.status == TaskStatus.PENDING
                assert (now.claimed_by_agent_id, now.claimed_at) == ("", None)
        assert now.status == TaskStatus.DEAD
        assert now.retry_count == 2
        assert now.claimed_by_agent_id == worker.agent_id
        assert now.completed_at is None


def test_a_failed_task_goes_to_the_end_of_the_queue(client, queue):
    """[AK-2.5-14]"""
    with queue.worker() as worker:
        first, second = queue.create(max_retries=1), queue.create()
        client.claim_task(worker.agent_id)
        client.fail_task(first.id, worker.agent_id)
        assert client.claim_task(worker.agent_id).id == second.id
        assert client.claim_task(worker.agent_id).id == first.id


def test_a_claim_that_expires_gives_the_task_back_uncounted(client, queue):
    """[AK-2.5-4] [AK-2.5-20] [AK-2.0-7b]"""
    with queue.worker() as worker, Watcher(client.watch, ["task.requeued"]) as watcher:
        task = queue.create(ttl=1)
        claimed = client.claim_task(worker.agent_id)
        next_claim = Background(client.claim_task, worker.agent_id)
        again = next_claim.join().answer
        assert (again.id, again.retry_count) == (task.id, 0)
        late = (again.claimed_at - claimed.claimed_at).total_seconds() - 1
        assert 0 <= late < 0.25
        # The SDK does not know this payload; the topic and the order still help.
        assert watcher.wait(lambda e: e.topic == "task.requeued").payload is None
        client.complete_task(task.id, worker.agent_id)


def test_a_dead_claimant_gives_its_task_back(client, queue):
    """[AK-2.5-20] [AK-2.1-10]"""
    task = queue.create()
    with queue.worker() as heir:
        with queue.worker() as mortal:
            client.claim_task(mortal.agent_id)
            waiting = Background(client.claim_task, heir.agent_id)
        again = waiting.join().answer
        assert (again.id, again.retry_count) == (task.id, 0)
        assert status(client.complete_task, task.id, mortal.agent_id) == "PERMISSION_DENIED"


def test_dying_ends_a_waiting_claim(client, queue):
    """[AK-2.5-10]"""
    with queue.worker() as mortal:
        claim = Background(client.claim_task, mortal.agent_id)
        time.sleep(0.2)
    assert claim.join().status == "NOT_FOUND"


def test_an_unreachable_worker_gets_nothing_until_it_is_heard_of(client, queue, silent):
    """[AK-2.5-25]"""
    agent_id = silent.register(unique("silent"), 1, [queue.tool])
    claim = Background(client.claim_task, agent_id)
    eventually(lambda: client.get_agent(agent_id).status.name == "UNREACHABLE")
    task = queue.create()
    time.sleep(0.1)
    assert claim.is_waiting
    silent.beat(agent_id)
    assert claim.join().answer.id == task.id


def test_what_is_refused(client, queue):
    """[AK-2.5-5] [AK-2.5-10] [AK-2.5-13] [AK-2.5-15]"""
    with queue.worker() as worker, queue.worker() as other:
        assert status(client.create_task, "") == "INVALID_ARGUMENT"
        assert status(client.create_task, "t", b"x" * 2_000_001) == "INVALID_ARGUMENT"
        assert status(client.claim_task, "") == "INVALID_ARGUMENT"
        assert status(client.claim_task, "0" * 32) == "NOT_FOUND"
        assert status(client.get_task, "0" * 32) == "NOT_FOUND"
        task = queue.create()
        for call in (client.complete_task, client.fail_task):
            assert status(call, "0" * 32, worker.agent_id) == "NOT_FOUND"
            assert status(call, task.id, worker.agent_id) == "FAILED_PRECONDITION"
        client.claim_task(worker.agent_id)
        for call in (client.complete_task, client.fail_task):
            assert status(call, task.id, other.agent_id) == "PERMISSION_DENIED"
        big = b"x" * 2_000_001
        assert status(client.complete_task, task.id, worker.agent_id, big) == "INVALID_ARGUMENT"
        assert client.get_task(task.id).status == TaskStatus.CLAIMED
        # More than 4 MiB is refused before it is read.
        assert status(client.create_task, "t", b"x" * 5_000_000) == "RESOURCE_EXHAUSTED"
        client.complete_task(task.id, worker.agent_id)


def test_the_largest_task_can_be_read_by_this_client(client, queue):
    """[AK-1.4-8] [AK-2.5-5] [AK-2.5-16]"""
    with queue.worker() as worker:
        task = queue.create(b"i" * 2_000_000)
        assert len(client.claim_task(worker.agent_id).input) == 2_000_000
        client.complete_task(task.id, worker.agent_id, b"o" * 2_000_000)
        done = client.get_task(task.id)
        assert (len(done.input), len(done.output)) == (2_000_000, 2_000_000)


def test_listing(start_daemon):
    """[AK-2.5-2] [AK-2.5-17] [AK-2.5-18]"""
    client = start_daemon().client()
    with client.register("worker", "", "1") as worker:
        tasks = [client.create_task(f"t{n}", b"x" * 100) for n in range(4)]
        for _ in range(3):
            client.claim_task(worker.agent_id)
        client.complete_task(tasks[0].id, worker.agent_id)
        client.fail_task(tasks[1].id, worker.agent_id)
        listed = lambda status=None: [task.id for task in client.list_tasks(status)]
        created = sorted(tasks, key=lambda task: (task.created_at, task.id))
        assert listed() == [task.id for task in created]
        assert listed(TaskStatus.COMPLETED) == [tasks[0].id]
        assert listed(TaskStatus.DEAD) == [tasks[1].id]
        assert listed(TaskStatus.CLAIMED) == [tasks[2].id]
        assert listed(TaskStatus.PENDING) == [tasks[3].id]
        assert listed(TaskStatus.FAILED) == []
        for _ in range(3):
            client.create_task("big", b"x" * 1_400_000)
        assert status(client.list_tasks) == "RESOURCE_EXHAUSTED"
        assert listed(TaskStatus.CLAIMED) == [tasks[2].id]


def test_a_claim_is_no_lease(client, queue):
    """[AK-2.5-26]"""
    with queue.worker() as worker, Watcher(client.watch, ["lease."]) as watcher:
        task = queue.create()
        client.claim_task(worker.agent_id)
        with client.acquire_lease(task.id, worker.agent_id):
            pass
        assert client.get_task(task.id).status == TaskStatus.CLAIMED
        client.complete_task(task.id, worker.agent_id)
        of_task = lambda: [e.topic for e in watcher.events if e.payload.task_id == task.id]
        eventually(lambda: len(of_task()) == 2)
        assert of_task() == ["lease.acquired", "lease.released"]


def test_task_events_come_without_payload_and_under_their_own_word(client, queue):
    """[AK-2.6.1-2] [AK-2.6.5-1]"""
    with Watcher(client.watch, ["task."]) as watcher, queue.worker() as worker:
        task = queue.create()
        client.claim_task(worker.agent_id)
        client.complete_task(task.id, worker.agent_id)
        watcher.wait(lambda e: e.topic == "task.completed")
        assert [e.topic for e in watcher.events] == [
            "task.created",
            "task.claimed",
            "task.completed",
        ]
        assert [e.payload for e in watcher.events] == [None, None, None]


def test_200_blocked_claims_share_a_connection_with_other_calls(start_daemon):
    """[AK-1.4-9] [AK-2.5-24]"""
    client = start_daemon().client()
    with client.register("worker", "", "1") as worker:
        claims = [Background(client.claim_task, worker.agent_id) for _ in range(200)]
        with Watcher(client.watch, ["agent."]) as watcher:
            time.sleep(0.5)
            started = time.monotonic()
            with client.register("other", "", "1") as other:
                watcher.wait(lambda e: e.payload.agent_id == other.agent_id)
                with client.acquire_lease("t", other.agent_id):
                    pass
            assert time.monotonic() - started < 2
        assert all(claim.is_waiting for claim in claims)
        created = {client.create_task("work").id for _ in range(200)}
        claimed = {claim.join().answer.id for claim in claims}
        assert claimed == created


def test_a_claimant_that_gives_up_does_not_take_a_task_along(client, queue, daemon, start_child):
    """[AK-2.5-22]"""
    with queue.worker() as worker:
        child = start_child(daemon.port)
        child.send(f"client.claim_task({worker.agent_id!r})")
        time.sleep(0.8)
        child.close()
        time.sleep(0.2)
        task = queue.create()
        time.sleep(0.1)
        assert client.get_task(task.id).status == TaskStatus.PENDING
        assert client.claim_task(worker.agent_id).id == task.id
