"""The names that the peer's own tests import, each answered by the executable.

Nothing is decided here: records become files, calls become command lines, and what the program prints is
handed back. `AGENT_STATUS_PROGRAM` names the program; each call is noted in `AGENT_STATUS_CALLS`.
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SCHEMA_VERSION = "agent-status/v1alpha1"


def main(argv):
    done = _run(*argv)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


def validate_payload(payload):
    with _directory_of([payload]) as directory:
        done = _run("validate", str(directory / "0.json"))
    if done.returncode == 0:
        assert (done.stdout, done.stderr) == ("valid\n", "")
        return []
    assert done.returncode == 1 and done.stdout == ""
    return done.stderr.splitlines()


def atomic_write_json(path, payload):
    runtime = payload["runtime"]
    assert set(runtime) == {"lifecycle", "updated_at"}, "the stand-in writes the least record only"
    with tempfile.TemporaryDirectory() as elsewhere:
        is_own_name = path.name == f"{payload['agent_id']}.json"
        directory = path.parent if is_own_name else pathlib.Path(elsewhere)
        done = _run(
            "emit",
            *("--status-dir", str(directory), "--agent-id", payload["agent_id"]),
            *("--agent-name", payload["agent_name"], "--lifecycle", runtime["lifecycle"]),
            *("--updated-at", runtime["updated_at"]),
        )
        assert done.returncode == 0, done.stderr
        written = pathlib.Path(done.stdout.rstrip("\n"))
        if not is_own_name:
            shutil.move(written, path)


def load_status_dir(directory, warnings=None):
    document, said = _list(directory)
    if warnings is not None:
        warnings.extend(said)
    return [agent["record"] for agent in document["agents"]]


def parse_timestamp(text):
    """Handed on as it is: the program reads it."""
    return text


def derive_state(record, stale_after=60):
    with _directory_of([record]) as directory:
        document, _ = _list(directory, "--stale-after", str(stale_after))
    (agent,) = document["agents"]
    return agent["state"]


def display_sort_key(record, now, stale_after):
    """Which of two comes first is asked for each pair that sorting compares."""

    def compare(one, other):
        if one == other:
            return 0
        with _directory_of([one, other]) as directory:
            document, _ = _list(directory, "--stale-after", str(stale_after), now=now)
        first = document["agents"][0]["record"]
        return -1 if first == one else 1

    return functools.cmp_to_key(compare)(record)


def prune_status_dir(directory, now, stale_after, prune_after):
    bounds = ("--stale-after", str(stale_after), "--prune-after", str(prune_after))
    done = _run("prune", "--status-dir", str(directory), *bounds, now=now)
    assert done.returncode == 0, done.stderr
    return [pathlib.Path(line) for line in done.stdout.splitlines()]


def print_list(records, stale_after, color):
    with _directory_of(records) as directory:
        colour = "--color" if color else "--no-color"
        words = ("--status-dir", str(directory), "--stale-after", str(stale_after), colour)
        done = _run("list", *words)
    assert (done.returncode, done.stderr) == (0, "")
    sys.stdout.write(done.stdout)


def _human_age(text, now):
    with _directory_of([_least(updated_at=text)]) as directory:
        done = _run("list", "--status-dir", str(directory), now=now)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| ─")]
    return row.rstrip("|").split("|")[-1].strip()


class _Colours:
    """Of a row in that state, by the escape sequence before its cells."""

    names = {"31": "red", "32": "green", "33": "yellow", "36": "cyan", "2": "dim"}

    def __getitem__(self, state):
        now = "2026-06-20T16:45:00Z"
        with _directory_of([{**_least(updated_at=now), "task": {"state": state}}]) as directory:
            done = _run("list", "--status-dir", str(directory), "--color", now=now)
        code = re.search(r"\x1b\[(\d+)m\S+ " + re.escape(state) + r"\x1b\[0m", done.stdout)
        return self.names[code[1]]


_STATE_COLOR = _Colours()


def _least(updated_at):
    runtime = {"lifecycle": "running", "updated_at": updated_at}
    names = {"schema_version": SCHEMA_VERSION, "agent_id": "a", "agent_name": "n"}
    return {**names, "runtime": runtime}


@contextlib.contextmanager
def _directory_of(records):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for index, record in enumerate(records):
            (directory / f"{index}.json").write_text(json.dumps(record))
        yield directory


def _list(directory, *words, now=None):
    done = _run("list", "--json", "--status-dir", str(directory), *words, now=now)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.splitlines()


def _run(*words, now=None):
    with open(os.environ["AGENT_STATUS_CALLS"], "a") as calls:
        calls.write(f"{words[0]}\n")
    env = {**os.environ, **({} if now is None else {"AGENT_STATUS_NOW": now})}
    program = os.environ["AGENT_STATUS_PROGRAM"]
    return subprocess.run([program, *words], capture_output=True, text=True, env=env, check=False)
