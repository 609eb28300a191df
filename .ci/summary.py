"""Prints "PASSED FAILED", counted over the tests in a file of Bazel's build events (--build_event_json_file)."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path


def summary(lines: Iterable[str]) -> tuple[int, int]:
    """How many tests passed, and how many did not: failed, timed out, flaky, or never built."""
    passed: dict[str, bool] = {}
    for line in lines:
        event = json.loads(line)
        identity = event.get("id", {})
        if "targetConfigured" in identity and "testSize" in event.get("configured", {}):
            # Every test is announced so; one that cannot be built gets no summary.
            passed.setdefault(identity["targetConfigured"]["label"], False)
        elif "testSummary" in event:
            passed[identity["testSummary"]["label"]] = event["testSummary"]["overallStatus"] == "PASSED"
    return sum(passed.values()), len(passed) - sum(passed.values())


if __name__ == "__main__":
    events = Path(sys.argv[1])
    print(*summary(events.read_text("utf-8").splitlines() if events.exists() else []))
