"""Submits a job and prints its events and its result, with nothing but the published SDK."""

import asyncio, contextlib, json, os, sys

from arcp import ClientInfo, WebSocketTransport
from arcp.client import ARCPClient


async def main() -> None:
    client = ARCPClient(client=ClientInfo(name="watches", version="1.0.0"), token=os.environ["ARCP_TOKEN"])
    async with contextlib.aclosing(client):
        await client.connect(await WebSocketTransport.connect(os.environ["ARCP_URL"]))
        handle = await client.submit(agent="payer", input={})
        async for event in handle.events():
            print(json.dumps([event["kind"], event["body"]]))
        print(json.dumps(["result", (await handle.done).result]))


sys.exit(asyncio.run(main()))
