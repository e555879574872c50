"""Says of each value on standard input whether a schema allows it.

The first line is the schema, each further one a value. Answers one line each: true or false.
"""

import json
import sys

from jsonschema import Draft202012Validator

schema = json.loads(sys.stdin.readline())
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
for line in sys.stdin:
    print("true" if validator.is_valid(json.loads(line)) else "false")
