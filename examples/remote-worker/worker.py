"""A worker in Python: the same frames by hand, with nothing but `websockets`. It reconnects and reclaims."""

import asyncio, json, os, sys, uuid
from contextlib import suppress
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

PREFIX = "x-vendor.tipstaff.worker."
URL, TOKEN = os.environ.get("ARCP_URL", "ws://127.0.0.1:7777/arcp"), os.environ["ARCP_TOKEN"]
OFFERS = [{"name": "count", "version": "1.0.0", "idempotent": False}]
WORKER_ID = f"wrk_{uuid.uuid4()}"  # Of this process: whoever says it has what this process has.
runs: dict[str, "Run"] = {}


async def send(socket, type_: str, payload: dict) -> None:
    frame = {"arcp": "1.1", "id": f"msg_{uuid.uuid4()}", "type": type_, "payload": payload}
    await socket.send(json.dumps(frame))


class Run:
    """A job, from when it comes until its last word is confirmed."""

    unconfirmed_max = 1  # The runtime says how much may wait to be confirmed.

    def __init__(self, job: dict, socket) -> None:
        self.held = {"job_id": job["job_id"], "attempt": job["attempt"]}
        self.said: list[tuple[str, dict]] = []  # What is not confirmed yet, oldest first.
        self.number = 0
        self.room = asyncio.Semaphore(Run.unconfirmed_max)
        self.socket = socket  # Where it is heard, if anywhere.
        self.task = asyncio.create_task(self.work(job["input"]))

    async def work(self, given) -> None:
        to = given.get("to") if isinstance(given, dict) else None
        if not isinstance(to, int):
            await self.say("error", {"code": "INVALID_REQUEST", "message": "the input needs a number: to"})
            return
        try:
            for at in range(1, to + 1):
                await self.say("event", {"kind": "progress", "body": {"current": at, "total": to}})
                await asyncio.sleep(0.05)
            await self.say("result", {"result": {"counted": to}})
        except asyncio.CancelledError:
            await self.say("error", {"code": "CANCELLED", "message": "it was cancelled"})

    async def say(self, type_: str, payload: dict) -> None:
        await self.room.acquire()
        self.number += 1
        self.said.append((type_, {**self.held, "worker_seq": self.number, **payload}))
        with suppress(ConnectionClosed):  # It is said again on the next connection.
            if self.socket:
                await send(self.socket, PREFIX + type_, self.said[-1][1])

    def kept(self, number: int) -> None:
        while self.said and self.said[0][1]["worker_seq"] <= number:
            self.room.release()
            if self.said.pop(0)[0] != "event":
                runs.pop(self.held["job_id"], None)

    async def resume(self, verdict: dict, socket) -> None:
        if verdict["verdict"] == "drop":
            runs.pop(verdict["job_id"]).task.cancel()
            return
        self.kept(verdict["worker_seq"])
        for type_, payload in self.said:  # Also what is said while this loop waits: the order must hold.
            await send(socket, PREFIX + type_, payload)
        self.socket = socket


async def hear(socket, type_: str, payload: dict) -> None:
    run = runs.get(payload.get("job_id", ""))
    if type_ == "welcome":
        Run.unconfirmed_max = payload["unacknowledged_max"]
        for verdict in payload["jobs"]:
            await runs[verdict["job_id"]].resume(verdict, socket)
    elif type_ == "job" and not run:
        runs[payload["job_id"]] = run = Run(payload, socket)
        await send(socket, PREFIX + "taken", run.held)
    elif type_ in ("ack", "invalid") and run:
        run.kept(payload["worker_seq"])
    elif type_ in ("cancel", "drop") and run:
        run.task.cancel()
        if type_ == "drop":
            runs.pop(payload["job_id"])


async def main() -> None:
    async for socket in connect(URL, max_size=2**24):  # Connects again, later each time that it fails.
        with suppress(ConnectionClosed):
            client, auth = {"name": "counter", "version": "1.0.0"}, {"scheme": "bearer", "token": TOKEN}
            await send(socket, "session.hello", {"client": client, "auth": auth})
            async for text in socket:
                frame = json.loads(text)
                if frame["type"] == "session.welcome":
                    offer = {"worker_id": WORKER_ID, "offers": OFFERS, "jobs_at_once": 4}
                    offer["has"] = [run.held for run in runs.values()]
                    await send(socket, PREFIX + "offer", offer)
                elif frame["type"] in ("session.error", PREFIX + "refused"):
                    sys.exit(frame["payload"]["message"])
                elif frame["type"].startswith(PREFIX):
                    await hear(socket, frame["type"].removeprefix(PREFIX), frame["payload"])
        for run in runs.values():
            run.socket = None


asyncio.run(main())
