"""Prints "PASSED FAILED", counted over the tests in a file of Bazel's build events (--build_event_json_file)."""

import json
import sys
from pathlib import Path


def summary(lines: list[str]) -> tuple[int, int]:
    """How many tests passed, and how many did not: failed, timed out, flaky or not built."""
    verdicts = {}
    for line in lines:
        event = json.loads(line)
        if "testSummary" in event:
            verdicts[event["id"]["testSummary"]["label"]] = event["testSummary"]["overallStatus"] == "PASSED"
        elif event.get("id", {}).get("targetCompleted") and "_test" in event.get("configured", {}).get("targetKind", ""):
            verdicts.setdefault(event["id"]["targetCompleted"]["label"], False)
        elif "targetConfigured" in event.get("id", {}) and event.get("configured", {}).get("testSize"):
            # Every test is announced here; one that never reaches its summary was not built.
            verdicts.setdefault(event["id"]["targetConfigured"]["label"], False)
    return sum(verdicts.values()), len(verdicts) - sum(verdicts.values())


if __name__ == "__main__":
    events = Path(sys.argv[1])
    print(*summary(events.read_text("utf-8").splitlines() if events.exists() else []))
