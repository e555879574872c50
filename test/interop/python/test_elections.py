"""Elections, as candidates live through them."""

import time

from agentkeeper import ElectionState
from conftest import Watcher, status, unique


def test_the_last_candidate_leaves_and_callbacks_step_down(client):
    """[AK-2.3-9] [AK-2.3-12] [AK-2.6.6-1] [AK-1.4-3]"""
    group = unique("group")
    with Watcher(client.watch_election, group) as watcher:
        with client.register(unique("only"), "", "1") as agent:
            first = client.campaign(group, agent.agent_id)
            assert first.term == 1
            assert first.elected_at is not None
            client.resign(group, agent.agent_id)
            empty = watcher.wait(lambda state: state.term == 2)
            assert empty == ElectionState(group, "", 2, None)
            again = client.campaign(group, agent.agent_id)
            assert again.term == 3
        # Its death is an end as well.
        assert watcher.wait(lambda state: state.term == 4).leader_agent_id == ""
    assert [state.term for state in watcher.events] == [1, 2, 3, 4]


def test_a_dead_leader_is_succeeded_at_once(client):
    """[AK-2.3-7] [AK-2.3-8] [AK-2.3-10]"""
    group = unique("group")
    with client.register(unique("two"), "", "1") as two, client.register(
        unique("3"), "", "1"
    ) as three:
        with client.register(unique("one"), "", "1") as one:
            for agent in (one, two, three):
                state = client.campaign(group, agent.agent_id)
                assert state.leader_agent_id == one.agent_id
                assert state.term == 1
        state = client.campaign(group, three.agent_id)
        assert state.leader_agent_id == two.agent_id
        assert state.term == 2


def test_resigning_is_forgiving(client):
    """[AK-2.3-5] [AK-2.3-6] [AK-2.3-11]"""
    group = unique("group")
    with client.register(unique("one"), "", "1") as one, client.register(
        unique("two"), "", "1"
    ) as two:
        client.campaign(group, one.agent_id)
        client.campaign(group, two.agent_id)
        client.resign(group, two.agent_id)
        client.resign(group, two.agent_id)
        client.resign(unique("unknown"), one.agent_id)
        client.resign(group, "0" * 32)
        assert client.campaign(group, one.agent_id).term == 1
        assert status(client.campaign, group, "0" * 32) == "NOT_FOUND"
        assert status(client.campaign, "", one.agent_id) == "INVALID_ARGUMENT"


def test_a_change_between_campaign_and_watch_is_not_lost(daemon, client, start_child):
    """[AK-2.6.6-5] [AK-2.6.6-4] [AK-1.4-7]"""
    group = unique("group")
    child = start_child(daemon.port)
    child.run("names.update(agent=client.register('leader', '', '1', ttl=30))")
    leader = child.run(f"client.campaign({group!r}, agent.agent_id).leader_agent_id")
    with client.register(unique("standby"), "", "1") as standby:
        assert client.campaign(group, standby.agent_id).leader_agent_id == leader
        child.run(f"client.resign({group!r}, agent.agent_id)")
        with Watcher(client.watch_election, group) as watcher:
            state = watcher.wait(lambda state: True)
            assert state.leader_agent_id == standby.agent_id
            assert state.term == 2
            # Told once: neither again, nor to another watch of this process.
            with Watcher(client.watch_election, group) as second:
                time.sleep(0.2)
                assert second.events == []
            assert len(watcher.events) == 1


def test_who_knows_the_state_is_not_told_again(client):
    """[AK-2.6.6-4] [AK-2.6.6-5]"""
    group = unique("group")
    with client.register(unique("one"), "", "1") as one:
        client.campaign(group, one.agent_id)
        with Watcher(client.watch_election, group) as watcher:
            time.sleep(0.2)
            assert watcher.events == []
