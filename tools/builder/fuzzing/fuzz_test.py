"""A short run of each fuzzer: of its inputs some are read, most are refused in many ways, and none breaks a promise."""

from __future__ import annotations

import pytest

from tools.builder.fuzzing import gguf_fuzz, safetensors_fuzz
from tools.builder.fuzzing.runner import Limits, Target, run


@pytest.mark.parametrize(
    ("target", "inputs", "kinds"), [(gguf_fuzz.TARGET, 1500, 60), (safetensors_fuzz.TARGET, 3000, 60)]
)
def test_only_the_readers_own_errors_escape(target: Target, inputs: int, kinds: int) -> None:
    outcome = run(target, Limits(inputs=inputs, input_seconds=30), seed=5)
    assert not outcome.findings, outcome.findings[0][2]
    assert outcome.inputs == inputs and len(outcome.kinds) >= kinds
    assert inputs * 0.05 < outcome.kinds[""] < inputs * 0.6
