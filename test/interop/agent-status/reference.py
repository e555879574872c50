"""The published program in one process: a line of JSON in, its words; a line out, how it ended.

Starting it anew for each call would take a tenth of a second. What it would have died of is told as such.
"""

import contextlib
import io
import json
import os
import sys
import traceback

import agent_status

answers = sys.stdout


def call(words, env):
    stdout, stderr = io.StringIO(), io.StringIO()
    died = False
    before = dict(os.environ)
    os.environ.update(env)
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            code = agent_status.main(words)
        except SystemExit as ending:
            code = ending.code
        except Exception:
            traceback.print_exc()
            code, died = 1, True
    os.environ.clear()
    os.environ.update(before)
    out, err = stdout.getvalue(), stderr.getvalue()
    return {"code": code or 0, "stdout": out, "stderr": err, "died": died}


print(json.dumps({"python": list(sys.version_info[:2])}), file=answers, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(call(asked["words"], asked["env"])), file=answers, flush=True)
