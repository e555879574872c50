"""What these tests lean on: daemons of their own, and the published SDK, unmodified, as client.

The executable comes from AGENTKEEPER_BIN, as for the SDK's embedded mode. A daemon listens on this
machine only, belongs to one test (or, where it says so, to one process of tests), and ends with it.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

import grpc
import pytest

from agentkeeper import AgentKeeperClient
from agentkeeper.v1 import agentkeeper_pb2 as messages
from agentkeeper.v1 import agentkeeper_pb2_grpc as services


def pytest_configure(config):
    # The SDK's heartbeat threads go on when a client is closed, and complain of it.
    ignored = "ignore::pytest.PytestUnhandledThreadExceptionWarning"
    config.addinivalue_line("filterwarnings", ignored)


def free_port():
    """None of those that the system gives to whoever asks for any: one of these could be gone by then."""
    while True:
        port = random.randrange(12_000, 20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def eventually(claim, within=10.0, why="it did not come true"):
    """The first true answer of `claim`, asked again and again."""
    give_up = time.monotonic() + within
    while True:
        answer = claim()
        if answer:
            return answer
        assert time.monotonic() < give_up, f"{why} within {within} s"
        time.sleep(0.02)


def status(call, *args, **kwargs):
    """How a call ends: "OK", or the name of its gRPC status."""
    try:
        call(*args, **kwargs)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name


def unique(name):
    return f"{name}-{uuid.uuid4().hex[:8]}"


class Daemon:
    """One daemon, in a process of its own."""

    def __init__(self, directory, port=None, data_dir=None, flags=("--metrics-addr=",)):
        self.port = port or free_port()
        self.data_dir = data_dir
        self.flags = flags
        self._errors = directory / f"daemon-{uuid.uuid4().hex[:8]}.stderr"
        self._clients = []
        self.process = None
        self.start()

    def start(self):
        command = [os.environ["AGENTKEEPER_BIN"], f"--addr=127.0.0.1:{self.port}", *self.flags]
        if self.data_dir is not None:
            command.append(f"--data-dir={self.data_dir}")
        with open(self._errors, "ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
            )
        try:
            eventually(self._is_up, why="the daemon did not accept connections")
        except BaseException:
            # Nobody has it yet who could end it.
            self.process.kill()
            raise

    def _is_up(self):
        assert self.process.poll() is None, f"the daemon ended: {self.errors()}"
        return accepts(self.port)

    def client(self):
        """A client whose connection is there and no longer new."""
        client = AgentKeeperClient(host="127.0.0.1", port=self.port)
        self._clients.append(client)
        eventually(lambda: status(client.find) == "OK")
        time.sleep(0.05)
        return client

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM, within=5):
        """Sends a signal and waits; answers the exit code and how long it took."""
        started = time.monotonic()
        self.send(number)
        code = self.process.wait(timeout=within)
        return code, time.monotonic() - started

    def errors(self):
        return self._errors.read_text()

    def close(self):
        for client in self._clients:
            client.close()
        if self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
            self.process.wait()


class Watcher:
    """What a watch has received, with a way to wait for more."""

    def __init__(self, watch, what):
        self.events = []
        self._change = threading.Condition()
        self._subscription = watch(what, self._receive)

    def _receive(self, event):
        with self._change:
            self.events.append(event)
            self._change.notify_all()

    def wait(self, claim, within=10.0):
        """The first event for which the claim holds, past or future."""
        give_up = time.monotonic() + within
        with self._change:
            while True:
                for event in self.events:
                    if claim(event):
                        return event
                left = give_up - time.monotonic()
                assert left > 0, f"nothing of the kind came within {within} s: {self.events}"
                self._change.wait(left)

    def cancel(self):
        self._subscription.cancel()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cancel()


class Background:
    """A call that blocks, in a thread of its own."""

    def __init__(self, call, *args):
        self.answer = None
        self.status = None
        self._thread = threading.Thread(target=self._run, args=(call, args), daemon=True)
        self._thread.start()

    def _run(self, call, args):
        try:
            self.answer = call(*args)
            self.status = "OK"
        except grpc.RpcError as error:
            self.status = error.code().name

    @property
    def is_waiting(self):
        return self._thread.is_alive()

    def join(self, within=10.0):
        self._thread.join(within)
        assert not self._thread.is_alive(), f"the call did not end within {within} s"
        return self


class Child:
    """Another process, hence another connection: clients of one process share theirs.

    It runs lines of Python, one at a time, with `client` at hand, and prints what they evaluate to.
    """

    PROGRAM = """
import sys
import grpc
from agentkeeper import AgentKeeperClient
client = AgentKeeperClient(host="127.0.0.1", port=int(sys.argv[1]))
names = {"client": client}
names["names"] = names
for line in sys.stdin:
    try:
        print(repr(eval(line, names)), flush=True)
    except grpc.RpcError as error:
        print(repr(error.code().name), flush=True)
"""

    def __init__(self, port):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def receive(self):
        return eval(self.process.stdout.readline())

    def run(self, line):
        self.send(line)
        return self.receive()

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def start_daemon(tmp_path):
    """Starts daemons that belong to the test."""
    started = []

    def start(**options):
        daemon = Daemon(tmp_path, **options)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.close()


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """One daemon in memory, for tests that do not mind each other."""
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    yield daemon
    daemon.close()


@pytest.fixture(scope="session")
def client(daemon):
    return daemon.client()


@pytest.fixture
def start_child():
    started = []

    def start(port):
        child = Child(port)
        started.append(child)
        return child

    yield start
    for child in started:
        child.close()


class SilentAgents:
    """Agents that beat only when they are told to."""

    def __init__(self, port):
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self._registry = services.RegistryServiceStub(self._channel)

    def register(self, name, ttl, tools=()):
        card = messages.AgentCard(name=name, tools=tools)
        request = messages.RegisterRequest(card=card, ttl_seconds=ttl)
        return self._registry.Register(request).agent_id

    def beat(self, agent_id):
        self._registry.Heartbeat(messages.HeartbeatRequest(agent_id=agent_id))

    def leave(self, agent_id):
        self._registry.Deregister(messages.DeregisterRequest(agent_id=agent_id))

    def close(self):
        self._channel.close()


@pytest.fixture
def silent(daemon):
    agents = SilentAgents(daemon.port)
    yield agents
    agents.close()
