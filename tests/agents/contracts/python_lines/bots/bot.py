"""Contract lines in Python: a program with arguments, a second module, and a seed."""

import json
import sys

import adding  # type: ignore[import-not-found]

for line in sys.stdin:
    told = json.loads(line)
    if told["type"] == "start":
        assert len(bytes.fromhex(told["seed"])) == 16
        assert told["configuration"]["steps"]
    else:
        print(json.dumps(adding.add(told["observation"]["step"], int(sys.argv[2]))))
