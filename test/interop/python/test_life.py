"""The life of an agent, as the SDK lives it."""

import threading
import time

import pytest

from agentkeeper import AgentInfo, AgentStatus
from conftest import Watcher, eventually, status, unique


@pytest.mark.parametrize("ttl", [1, 2])
def test_an_agent_that_beats_does_not_flap(client, ttl):
    """[AK-2.1-7] [AK-2.1-18]"""
    with Watcher(client.watch, ["agent."]) as watcher:
        with client.register(unique("steady"), "", "1", ttl=ttl) as agent:
            time.sleep(4.3)
            assert client.get_agent(agent.agent_id).status == AgentStatus.ALIVE
            seen = [e.topic for e in watcher.events if e.payload.agent_id == agent.agent_id]
            assert seen == ["agent.registered"]


@pytest.mark.parametrize("ttl", [1, 2])
def test_a_silent_agent_is_unreachable_then_dead_each_in_its_time(client, silent, ttl):
    """[AK-2.1-2] [AK-2.1-4] [AK-2.0-7b]"""
    with Watcher(client.watch, ["agent."]) as watcher:
        agent_id = silent.register(unique("silent"), ttl)
        of_agent = lambda topic: lambda e: e.topic == topic and e.payload.agent_id == agent_id
        registered = watcher.wait(of_agent("agent.registered"))
        unreachable = watcher.wait(of_agent("agent.unreachable"))
        assert unreachable.payload.status == AgentStatus.UNREACHABLE
        assert agent_id not in [info.agent_id for info in client.find(limit=1000)]
        died = watcher.wait(of_agent("agent.died"))
        assert died.payload.status == AgentStatus.DEAD
        assert client.get_agent(agent_id).status == AgentStatus.DEAD
        for event, due in [(unreachable, ttl + 0.5), (died, 2 * ttl + 0.5)]:
            late = (event.timestamp - registered.timestamp).total_seconds() - due
            assert 0 <= late < 0.25, f"{event.topic} came {late} s late"


def test_an_unreachable_agent_that_beats_again_is_alive_without_a_word(client, silent):
    """[AK-2.1-3] [AK-2.6.5-1] [AK-2.1-27]"""
    with Watcher(client.watch, ["agent."]) as watcher, Watcher(client.watch, ["ext."]) as extra:
        agent_id = silent.register(unique("back"), 1)
        watcher.wait(lambda e: e.topic == "agent.unreachable" and e.payload.agent_id == agent_id)
        silent.beat(agent_id)
        assert client.get_agent(agent_id).status == AgentStatus.ALIVE
        assert agent_id in [info.agent_id for info in client.find(limit=1000)]
        extra.wait(lambda e: e.topic == "ext.agent.recovered")
        topics = [e.topic for e in watcher.events if e.payload.agent_id == agent_id]
        assert topics == ["agent.registered", "agent.unreachable"]


def test_who_reacts_to_a_death_finds_everything_free(daemon, client):
    """[AK-2.1-10] [AK-2.1-12]"""
    other = daemon.client()
    heir = other.register(unique("heir"), "", "1", tools=["t"])
    dying = client.register(unique("dying"), "", "1", tools=["t"])
    lease_id, group = unique("lease"), unique("group")
    tool = unique("tool")
    lease = client.acquire_lease(lease_id, dying.agent_id)
    client.campaign(group, dying.agent_id)
    task = client.create_task(tool, required_tools=["t"])
    assert client.claim_task(dying.agent_id).id == task.id

    found = {}
    done = threading.Event()

    def react(event):
        if event.payload.agent_id != dying.agent_id:
            return
        found["lease"] = other.acquire_lease(lease_id, heir.agent_id)
        found["state"] = other.campaign(group, heir.agent_id)
        found["task"] = other.claim_task(heir.agent_id)
        done.set()

    subscription = other.watch(["agent.died"], react)
    dying.deregister()
    assert done.wait(5)
    subscription.cancel()
    assert found["lease"].lease.token > lease.lease.token
    assert found["state"].leader_agent_id == heir.agent_id
    assert found["task"].id == task.id
    heir.deregister()


def test_leaving_twice_is_no_error_and_no_second_event(client):
    """[AK-2.1-20]"""
    with Watcher(client.watch, ["agent.died"]) as watcher:
        with pytest.raises(ValueError, match="the user's own"):
            with client.register(unique("leaver"), "", "1") as agent:
                agent.deregister()
                raise ValueError("the user's own")
        with client.register(unique("next"), "", "1") as other:
            pass
        watcher.wait(lambda e: e.payload.agent_id == other.agent_id)
        deaths = [e for e in watcher.events if e.payload.agent_id == agent.agent_id]
        assert len(deaths) == 1


def test_a_zombie_is_not_revived(client, silent):
    """[AK-2.1-25] [AK-2.1-6] [AK-2.0-5]"""
    agent_id = silent.register(unique("zombie"), 1)
    eventually(lambda: client.get_agent(agent_id).status == AgentStatus.DEAD)
    assert status(silent.beat, agent_id) == "NOT_FOUND"
    assert status(client.acquire_lease, "t", agent_id) == "NOT_FOUND"
    assert status(client.campaign, "g", agent_id) == "NOT_FOUND"
    assert status(client.claim_task, agent_id) == "NOT_FOUND"
    assert client.get_agent(agent_id).status == AgentStatus.DEAD


def test_two_agents_of_one_name_live_side_by_side(client):
    """[AK-2.1-24]"""
    name = unique("double")
    with client.register(name, "first", "1") as one:
        with client.register(name, "second", "1") as two:
            assert one.agent_id != two.agent_id
            found = [i for i in client.find(limit=1000) if i.card.name == name]
            # Newest first.
            assert [i.agent_id for i in found] == [two.agent_id, one.agent_id]
        assert client.get_agent(one.agent_id).status == AgentStatus.ALIVE


def test_a_record_reads_as_it_was_given(client):
    """[AK-2.1-16] [AK-1.4-3] [AK-1.4-10]"""
    metadata = {"__proto__": "x", "team": "dätä", "": "empty"}
    with client.register(unique("whole"), "d", "1.2", tools=["b", "a"], metadata=metadata) as agent:
        info = client.get_agent(agent.agent_id)
        assert isinstance(info, AgentInfo)
        assert info.card.description == "d"
        assert info.card.version == "1.2"
        assert info.card.tools == ["b", "a"]
        assert info.card.metadata == metadata
        assert info.registered_at == info.last_heartbeat_at
        assert info.registered_at.year > 2000


def test_unknown_agents_are_not_found(client, silent):
    """[AK-2.0-4] [AK-2.1-21] [AK-2.1-23]"""
    assert status(client.get_agent, "0" * 32) == "NOT_FOUND"
    assert status(silent.beat, "0" * 32) == "NOT_FOUND"
    assert status(silent.leave, "0" * 32) == "NOT_FOUND"


def test_every_event_reaches_a_watcher_once_and_in_order(client):
    """[AK-2.6.2-3] [AK-2.6.3-1] [AK-2.6.3-2]"""
    with Watcher(client.watch, ["", "agent.", "agent.registered"]) as watcher:
        agents = [client.register(unique("many"), "", "1") for _ in range(30)]
        for agent in agents:
            agent.deregister()
        last = agents[-1].agent_id
        watcher.wait(lambda e: e.topic == "agent.died" and e.payload.agent_id == last)
        numbers = [e.sequence for e in watcher.events]
        assert numbers == sorted(set(numbers))
        mine = [
            e
            for e in watcher.events
            if getattr(e.payload, "agent_id", None) in {a.agent_id for a in agents}
        ]
        assert len(mine) == 60
