"""The daemon as a process: signals, ports, restarts, and sleep."""

import fcntl
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from agentkeeper import AgentKeeperClient, AgentStatus, PolicyEffect, TaskStatus
from conftest import (
    Background,
    SilentAgents,
    Watcher,
    accepts,
    eventually,
    free_port,
    status,
    unique,
)

DEFAULT_METRICS_PORT = 9090


def _literal(name, value):
    return bytes([0x00, len(name)]) + name + bytes([len(value)]) + value


_HEADERS = b"".join(
    [
        _literal(b":method", b"POST"),
        _literal(b":scheme", b"http"),
        _literal(b":path", b"/agentkeeper.v1.RegistryService/Watch"),
        _literal(b":authority", b"localhost"),
        _literal(b"content-type", b"application/grpc"),
        _literal(b"te", b"trailers"),
    ]
)
# The preface of HTTP/2 and empty SETTINGS.
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
# HEADERS of stream 1, then DATA with an empty message; neither ends the stream.
WATCH_REQUEST = (
    len(_HEADERS).to_bytes(3, "big")
    + bytes.fromhex("010400000001")
    + _HEADERS
    + bytes.fromhex("000005000000000001")
    + bytes(5)
)


@pytest.fixture
def port_9090():
    """Who needs the default metrics port waits for the other tests that do."""
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield DEFAULT_METRICS_PORT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_open_watches_and_blocked_claims(start_daemon, number):
    """[AK-3.2-6] [AK-3.2-8] [AK-2.0-8e] [AK-2.5-10] [AK-2.6.3-4]"""
    daemon = start_daemon()
    client = daemon.client()
    agent = client.register("worker", "", "1")
    watches = [client.watch([], lambda event: None), client.watch_election("g", lambda state: None)]
    claim = Background(client.claim_task, agent.agent_id)
    time.sleep(0.2)
    code, took = daemon.end(number)
    assert code == 0
    assert took < 3
    assert claim.join(3).status == "UNAVAILABLE"
    assert not accepts(daemon.port)
    # The port is free at once.
    daemon.start()
    assert accepts(daemon.port)
    for watch in watches:
        watch.cancel()


def test_a_suspended_client_does_not_hold_it_up(start_daemon, start_child):
    """[AK-3.2-6]"""
    daemon = start_daemon()
    child = start_child(daemon.port)
    child.run("client.watch([], print) and None")
    time.sleep(0.2)
    child.process.send_signal(signal.SIGSTOP)
    code, took = daemon.end()
    assert code == 0
    assert took < 3


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(start_daemon, second):
    """[AK-3.2-7]"""
    daemon = start_daemon()
    # A caller that watches and neither reads nor ends: the daemon gives it a second.
    with socket.create_connection(("127.0.0.1", daemon.port)) as held:
        held.sendall(GREETING)
        time.sleep(0.5)
        held.sendall(WATCH_REQUEST)
        # On a busy machine the watch takes its time to begin.
        time.sleep(1)
        daemon.send(signal.SIGTERM)
        time.sleep(0.15)
        assert daemon.process.poll() is None, "this caller was meant to hold it up"
        code, took = daemon.end(second)
        assert took < 0.5
        assert code != 0


def test_a_kill_loses_nothing_and_a_beating_agent_lives_on(start_daemon, tmp_path):
    """[AK-3.2-9] [AK-4-2] [AK-4-4] [AK-4-8] [AK-2.2-3] [AK-2.6.2-4]"""
    daemon = start_daemon(data_dir=tmp_path / "a" / "b")
    client = daemon.client()
    seen = Watcher(client.watch, [])
    agent = client.register("survivor", "beats", "1", tools=["t"], ttl=2)
    dead = client.register("dead", "", "1")
    dead.deregister()
    lease = client.acquire_lease("t", agent.agent_id, ttl=120)
    state = client.campaign("g", agent.agent_id)
    client.set_policy("p", "s", "a", "r", PolicyEffect.ALLOW)
    waiting, claimed = client.create_task("waiting", b"in"), None
    claimed = client.claim_task(agent.agent_id)
    done = client.create_task("done")
    client.claim_task(agent.agent_id)
    client.complete_task(done.id, agent.agent_id, b"out")
    before = client.get_agent(agent.agent_id)
    last = seen.wait(lambda e: e.topic == "task.completed")

    daemon.end(signal.SIGKILL)
    daemon.start()
    eventually(lambda: status(client.find) == "OK", within=20)
    after = client.get_agent(agent.agent_id)
    assert (after.agent_id, after.card) == (before.agent_id, before.card)
    assert after.registered_at == before.registered_at
    assert after.status != AgentStatus.DEAD
    assert client.get_agent(dead.agent_id).status == AgentStatus.DEAD
    # Held, led, allowed and claimed as before.
    rival = client.register("rival", "", "1")
    assert client.acquire_lease("t", rival.agent_id) is None
    lease.renew()
    assert client.campaign("g", rival.agent_id) == state
    assert client.check_policy("s", "a", "r").allowed
    assert claimed.id == waiting.id
    assert client.get_task(waiting.id) == claimed
    assert client.get_task(done.id).output == b"out"
    # Numbers go on.
    assert client.acquire_lease("u", rival.agent_id).lease.token > lease.lease.token
    with Watcher(client.watch, ["agent.registered"]) as watcher:
        client.register("next", "", "1")
        number = watcher.wait(lambda e: True).sequence
        assert last.sequence < number < last.sequence + 20
    # Its heartbeats are accepted under the old id, and keep it alive beyond its ttl.
    eventually(
        lambda: client.get_agent(agent.agent_id).last_heartbeat_at > before.last_heartbeat_at
    )
    assert client.get_agent(agent.agent_id).status == AgentStatus.ALIVE


def test_without_a_data_directory_nothing_survives_but_numbers_still_grow(start_daemon):
    """[AK-4-1] [AK-2.2-3] [AK-2.6.2-4]"""
    daemon = start_daemon()
    client = daemon.client()
    watcher = Watcher(client.watch, [])
    agent = client.register("one", "", "1")
    token = client.acquire_lease("t", agent.agent_id).lease.token
    number = watcher.wait(lambda e: e.topic == "lease.acquired").sequence
    daemon.end()
    daemon.start()
    eventually(lambda: status(client.find) == "OK", within=20)
    assert status(client.get_agent, agent.agent_id) == "NOT_FOUND"
    watcher = Watcher(client.watch, [])
    other = client.register("two", "", "1")
    assert client.acquire_lease("t", other.agent_id).lease.token > token
    assert watcher.wait(lambda e: True).sequence > number


def test_tokens_grow_over_restarts_with_a_data_directory(start_daemon, tmp_path):
    """[AK-2.2-3]"""
    daemon = start_daemon(data_dir=tmp_path / "data")
    client = daemon.client()
    agent = client.register("one", "", "1", ttl=60)
    tokens = []
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        for _ in range(3):
            tokens.append(client.acquire_lease("t", agent.agent_id).lease.token)
        daemon.end(number)
        daemon.start()
        eventually(lambda: status(client.find) == "OK", within=20)
    assert tokens == sorted(set(tokens))


def test_a_suspended_daemon_declares_nobody_dead_on_waking(start_daemon):
    """[AK-2.1-9]"""
    daemon = start_daemon()
    client = daemon.client()
    silent = SilentAgents(daemon.port)
    watcher = Watcher(client.watch, ["agent."])
    beating = client.register("beating", "", "1", ttl=1).agent_id
    lost = silent.register("lost", 1)
    daemon.send(signal.SIGSTOP)
    time.sleep(6)
    daemon.send(signal.SIGCONT)
    eventually(lambda: client.get_agent(beating).status == AgentStatus.ALIVE)
    # Nor soon after: who was not heard of has its grace.
    time.sleep(2.2)
    assert client.get_agent(beating).status == AgentStatus.ALIVE
    assert client.get_agent(lost).status == AgentStatus.UNREACHABLE
    assert [e.topic for e in watcher.events if e.topic == "agent.died"] == []
    silent.close()


def test_a_data_directory_has_one_daemon(start_daemon, tmp_path):
    """[AK-4-7] [AK-3.1-7]"""
    start_daemon(data_dir=tmp_path / "data")
    started = time.monotonic()
    second = run(
        f"--addr=127.0.0.1:{free_port()}", "--metrics-addr=", f"--data-dir={tmp_path / 'data'}"
    )
    assert second.returncode == 1
    assert len(second.stderr.strip().splitlines()) == 1
    assert time.monotonic() - started < 5


def test_a_client_may_come_through_a_unix_socket(tmp_path):
    """[AK-6-4] [AK-3.1-3]"""
    path = tmp_path / "grpc.sock"
    process = subprocess.Popen(
        [os.environ["AGENTKEEPER_BIN"], f"--addr=unix:{path}", "--metrics-addr="],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(path.exists)
        with AgentKeeperClient(host="unix", port=str(path)) as client:
            eventually(lambda: status(client.find) == "OK")
            with client.register("local", "", "1") as agent:
                assert client.get_agent(agent.agent_id).status == AgentStatus.ALIVE
    finally:
        process.terminate()
        assert process.wait(5) == 0


def test_embedded_keeps_its_data_where_it_is_told(port_9090, tmp_path):
    """[AK-3.1-8] [AK-3.2-1] [AK-3.2-2] [AK-3.2-3]"""
    directory = tmp_path / "not" / "there" / "yet"
    with AgentKeeperClient.embedded(data_dir=str(directory)) as client:
        client.set_policy("p", "s", "a", "r", PolicyEffect.ALLOW)
        # The process that was started is the one that listens: signals reach it.
        port, process = client._daemon.port, client._daemon._process
    assert process.poll() == 0
    assert not accepts(port)
    with AgentKeeperClient.embedded(data_dir=str(directory)) as client:
        assert client.check_policy("s", "a", "r").allowed


def test_connections_that_say_nothing_are_no_trouble(start_daemon):
    """[AK-3.2-4]"""
    daemon = start_daemon()
    for _ in range(30):
        assert accepts(daemon.port)
    with socket.create_connection(("127.0.0.1", daemon.port)) as probe:
        probe.sendall(b"GET / HTTP/1.1\r\n\r\n")
        time.sleep(0.1)
    assert status(daemon.client().find) == "OK"
    assert daemon.errors() == ""


def test_a_busy_default_metrics_port_is_a_warning_and_no_more(port_9090, start_daemon):
    """[AK-3.3-1] [AK-3.1-1]"""
    with taken(port_9090):
        daemon = start_daemon(flags=())
        assert status(daemon.client().find) == "OK"
        warnings = [line for line in daemon.errors().splitlines() if "9090" in line]
        assert len(warnings) == 1
        assert " warn " in warnings[0]


def test_an_explicit_metrics_port_that_is_busy_is_a_reason_to_stop(port_9090):
    """[AK-3.3-3] [AK-3.1-7]"""
    with taken(port_9090):
        stopped = run(f"--addr=127.0.0.1:{free_port()}", "--metrics-addr=127.0.0.1:9090")
        assert stopped.returncode == 1
        assert len(stopped.stderr.strip().splitlines()) == 1


def test_grpc_may_have_the_default_metrics_port(port_9090):
    """[AK-3.3-2]"""
    eventually(lambda: not accepts(port_9090), within=20, why="9090 did not become free")
    with AgentKeeperClient.embedded(port=port_9090) as client:
        with client.register("there", "", "1") as agent:
            assert client.get_agent(agent.agent_id).status == AgentStatus.ALIVE


def test_metrics_are_where_they_are_expected(port_9090, start_daemon):
    """[AK-3.1-1] [AK-3.4-2] [AK-3.4-3] [AK-3.4-4] [AK-3.5-1] [AK-3.5-2]"""
    eventually(lambda: not accepts(port_9090), within=20, why="9090 did not become free")
    daemon = start_daemon(flags=())
    # HTTP comes after gRPC.
    eventually(lambda: accepts(port_9090))
    body, headers = get("/metrics")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "\nagentkeeper_agents_alive 0\n" in body
    assert "\nagentkeeper_leases_active 0\n" in body
    counted = [line for line in body.splitlines() if line.startswith("agentkeeper_rpc_total{")]
    assert len(counted) == 22
    assert 'agentkeeper_rpc_total{method="/agentkeeper.v1.LeaseService/RenewLease"} 0' in counted
    for name, kind in [
        ("agentkeeper_agents_alive", "gauge"),
        ("agentkeeper_leases_active", "gauge"),
        ("agentkeeper_rpc_total", "counter"),
    ]:
        assert f"# HELP {name} " in body
        assert f"# TYPE {name} {kind}\n" in body

    client = daemon.client()
    agent = client.register("one", "", "1")
    client.acquire_lease("t", agent.agent_id)
    assert status(client.get_agent, "0" * 32) == "NOT_FOUND"
    watch = client.watch([], lambda event: None)
    eventually(lambda: 'RegistryService/Watch"} 1\n' in get("/metrics")[0])
    body, _ = get("/metrics")
    assert "\nagentkeeper_agents_alive 1\n" in body
    assert "\nagentkeeper_leases_active 1\n" in body
    assert 'agentkeeper_rpc_total{method="/agentkeeper.v1.RegistryService/GetAgent"} 1\n' in body
    watch.cancel()

    health, headers = get("/healthz")
    assert health == "ok"
    assert headers["Content-Type"].startswith("text/plain")
    assert failure("/nothing") == 404
    assert failure("/metrics", method="POST") == 405
    assert failure("/healthz", method="DELETE") == 405


def run(*flags):
    """Runs the daemon where it is expected to end by itself."""
    return subprocess.run(
        [os.environ["AGENTKEEPER_BIN"], *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=10,
    )


class taken:
    """A port of this machine that is in use, by us or by someone else."""

    def __init__(self, port):
        self.port = port
        self.sockets = []
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            holder = socket.socket(family)
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind((host, port))
                holder.listen()
                self.sockets.append(holder)
            except OSError:
                holder.close()

    def __enter__(self):
        assert accepts(self.port)
        return self

    def __exit__(self, *_):
        for holder in self.sockets:
            holder.close()


def get(path):
    with urllib.request.urlopen(
        f"http://localhost:{DEFAULT_METRICS_PORT}{path}", timeout=5
    ) as reply:
        return reply.read().decode(), reply.headers


def failure(path, method="GET"):
    request = urllib.request.Request(
        f"http://localhost:{DEFAULT_METRICS_PORT}{path}", method=method
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=5)
    return refused.value.code
