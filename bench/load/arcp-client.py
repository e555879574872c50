"""The client of the Python SDK as the load: jobs one after the other, so many at a time, or one job that says much.

usage: arcp-client.py --url <url> jobs --in-flight <count> --seconds <seconds>
       arcp-client.py --url <url> events --count <count>

It warms up, says `ready`, waits for a line, and prints what it measured as one line of JSON.
"""

import argparse
import asyncio
import json
import sys
import time

from arcp import ClientInfo, WebSocketTransport
from arcp.client import ARCPClient

WARM_UP_SECONDS = 1
WARM_UP_SHARE = 0.3


async def run_jobs(client, in_flight, seconds):
    durations_ms = []
    started = time.perf_counter()

    async def one_after_the_other():
        while True:
            began = time.perf_counter()
            if began - started >= seconds:
                return
            job = await client.submit(agent="quiet", input=None)
            await job.done
            durations_ms.append((time.perf_counter() - began) * 1000)

    await asyncio.gather(*(one_after_the_other() for _ in range(in_flight)))
    elapsed = time.perf_counter() - started
    return {"items": len(durations_ms), "seconds": elapsed, "durationsMs": durations_ms}


async def run_events(client, count):
    began = time.perf_counter()
    job = await client.submit(agent="burst", input={"count": count})
    seen = 0
    async for event in job.events():
        seen += event["kind"] == "log"
    await job.done
    if seen != count:
        raise SystemExit(f"{seen} of {count} events came")
    return {"items": count, "seconds": time.perf_counter() - began, "durationsMs": []}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    kinds = parser.add_subparsers(dest="kind", required=True)
    jobs = kinds.add_parser("jobs")
    jobs.add_argument("--in-flight", type=int, required=True)
    jobs.add_argument("--seconds", type=float, required=True)
    events = kinds.add_parser("events")
    events.add_argument("--count", type=int, required=True)
    asked = parser.parse_args()
    client = ARCPClient(client=ClientInfo(name="bench", version="1"), token="bench-token")
    await client.connect(await WebSocketTransport.connect(asked.url))
    if asked.kind == "jobs":
        await run_jobs(client, asked.in_flight, WARM_UP_SECONDS)
    else:
        await run_events(client, int(asked.count * WARM_UP_SHARE))
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    if asked.kind == "jobs":
        measured = await run_jobs(client, asked.in_flight, asked.seconds)
    else:
        measured = await run_events(client, asked.count)
    measured["clientSeconds"] = time.process_time() - before
    print(json.dumps(measured), flush=True)
    await client.close()


asyncio.run(main())
