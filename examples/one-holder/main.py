"""Two agents want the same invoice. One holds it at a time, and the later holder has the larger token."""

import os

from agentkeeper import AgentKeeperClient

port = int(os.environ.get("TIPSTAFF_GRPC_PORT", "7070"))

with AgentKeeperClient(host="localhost", port=port) as client:
    with (
        client.register("scraper", "Fetches invoices from web pages", "1.0", tools=["browser"]) as scraper,
        client.register("parser", "Reads totals from invoices", "1.0", tools=["pdf"]) as parser,
    ):
        with client.acquire_lease("invoice-42", scraper.agent_id, ttl=60) as held:
            first = held.lease.token
            print(f"scraper holds invoice-42 with token {first}")
            assert client.acquire_lease("invoice-42", parser.agent_id) is None
            print("parser has to wait")

        with client.acquire_lease("invoice-42", parser.agent_id, ttl=60) as held:
            second = held.lease.token
            print(f"parser holds invoice-42 with token {second}")
            assert second > first

        best = client.find(query="get a web page")[0]
        print(f"best agent for a web page: {best.card.name}")
        assert best.card.name == "scraper"
