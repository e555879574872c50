"""Shortens waits: a minute for each request that asks to wait would be an hour for all, and longer than the client waits."""

import schemathesis

WAIT_MS = 20


@schemathesis.hook
def before_call(context, case, kwargs):
    for part in (case.body, case.query):
        wait_ms = part.get("waitMs") if isinstance(part, dict) else None
        if is_long(wait_ms):
            part["waitMs"] = type(wait_ms)(WAIT_MS)


def is_long(wait_ms):
    """A valid wait that is longer than ours; the values of a query may be text."""
    if type(wait_ms) is str and wait_ms.isdecimal():
        wait_ms = int(wait_ms)
    return type(wait_ms) in (int, float) and WAIT_MS < wait_ms <= 60_000
