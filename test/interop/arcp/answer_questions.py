"""Submits a job and answers what it asks, with nothing but the published SDK."""

import asyncio, contextlib, json, os, random, sys

from arcp import ClientInfo, Envelope, WebSocketTransport
from arcp.client import ARCPClient

ANSWERS = {"Which colour?": "blue", "Read the logs?": {"granted": True}}


async def main() -> None:
    client = ARCPClient(client=ClientInfo(name="answers", version="1.0.0"), token="demo-token")
    async with contextlib.aclosing(client):
        transport = await WebSocketTransport.connect(os.environ["ARCP_DEMO_URL"])
        await client.connect(transport)
        handle = await client.submit(agent="asks", input={})
        async for event in handle.events():
            kind, body = event["kind"], event["body"]
            print(json.dumps([kind, body]))
            if kind not in ("x-vendor.runctx.question", "x-vendor.runctx.scope_request"):
                continue
            answer = ANSWERS[body.get("prompt") or body["reason"]]
            question_id = body.get("question_id") or body["request_id"]
            # The second answer is refused. The refusal must not fail the call that follows it.
            for said in (answer, answer):
                # The client has no method for vendor messages; its transport carries every envelope.
                envelope = Envelope(
                    id="".join(random.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=26)),
                    type="x-vendor.runctx.answer",
                    session_id=client.session_id,
                    payload={"job_id": handle.job_id, "question_id": question_id, "answer": said},
                )
                await transport.send(envelope.to_wire())
            await client.list_jobs()
        done = await handle.done
        print(json.dumps(["result", {"status": done.final_status, "result": done.result}]))


sys.exit(asyncio.run(main()))
