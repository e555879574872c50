"""The runtime of the Python SDK with the agents of the bench, on a port of loopback.

usage: arcp-server.py --port <port> [--db <file>]
"""

import argparse
import asyncio

from arcp import RuntimeInfo
from arcp.runtime import ARCPRuntime, SqliteEventLog, StaticBearerVerifier
from arcp import serve_websocket

LINE = "x" * 60


async def quiet(_input, _ctx):
    return None


async def echo(input, ctx):
    await ctx.log("info", LINE)
    return {"echoed": input}


class Gate:
    """Bursts wait here until everybody who shall see them has subscribed."""

    def __init__(self):
        self.opened = asyncio.Event()

    async def burst(self, input, ctx):
        if input.get("waits"):
            await self.opened.wait()
        for _ in range(input["count"]):
            await ctx.log("info", LINE)
            # Awaiting `log` does not give way to others: it only queues.
            if input.get("yields"):
                await asyncio.sleep(0)
        return None

    async def go(self, _input, _ctx):
        self.opened.set()
        self.opened = asyncio.Event()
        return None


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--db")
    arguments = parser.parse_args()
    gate = Gate()
    runtime = ARCPRuntime(
        runtime=RuntimeInfo(name="bench", version="1.0.0"),
        bearer=StaticBearerVerifier({"bench-token": "bench"}),
        event_log=SqliteEventLog(arguments.db) if arguments.db else None,
    )
    runtime.register_agent("quiet", quiet)
    runtime.register_agent("echo", echo)
    runtime.register_agent("burst", gate.burst)
    runtime.register_agent("go", gate.go)
    server = await serve_websocket(runtime.accept, host="127.0.0.1", port=arguments.port)
    async with server:
        await server.serve_forever()


asyncio.run(main())
