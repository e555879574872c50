"""Whoever asks to wait is given little: a minute for each would be an hour for all."""

import schemathesis

WAIT_MS = 20


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    wait_ms = body.get("waitMs") if isinstance(body, dict) else None
    if type(wait_ms) in (int, float) and WAIT_MS < wait_ms <= 60_000:
        body["waitMs"] = WAIT_MS
