"""Builds the plans of a family's tiny checkpoint with TensorRT-RTX, for every GPU that it knows, and computes the
decompositions for other versions on the double; needs no GPU.

    family_plans --family families/qwen3/family.json --checkpoint <folder>

Prints each plan's size and the seconds that it took; fails where one cannot be built, or where TensorRT says that an
input is not used: then it did not understand the network as it is meant. Prints the greatest relative error of each
case in f32, in both forms of the cache; fails above 2e-5. This is the body of every family's `:plan_test`.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.builder.checkpoint import Checkpoint
from tools.builder.graph import Graph
from tools.builder.lowering.tensorrt import references
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.engine import load
from tools.builder.lowering.tensorrt.execute import errors
from tools.builder.lowering.tensorrt.lower import Options, build_plan
from tools.builder.lowering.tensorrt.testing import DoubleExecution
from tools.builder.resolve import Family
from tools.builder.weights import arrays

OPTIONS = (Options("f16"), Options("f16", weights="inputs"))


LIMIT = 2e-5


class PlanError(RuntimeError):
    """A network or a plan that is not what the graph says."""


def plans(graph: Graph, weights: dict[str, Array]) -> Iterator[str]:
    """Builds the graph's plans; a line for each."""
    for options in OPTIONS:
        engine, start = load(), time.monotonic()
        plan = build_plan(graph, weights, options, engine=engine)
        if complaints := [message for message in engine.messages if "unused" in message.lower()]:
            raise PlanError(f"{graph.name}: TensorRT does not use all that it is given: {complaints[0]}")
        seconds = time.monotonic() - start
        targets = plan.description["targets"]
        kind = f"{options.precision}, weights as {options.weights}, {targets[0]} to {targets[-1]}"
        yield f"{graph.name} ({kind}): {len(plan.data)} bytes, {seconds:.1f} s"


def numbers(graph: Graph, weights: dict[str, Array]) -> Iterator[str]:
    """Compares the decompositions with the reference lowering; a line for each case."""
    recorded = references.record(graph.name, graph, weights)
    for extended in (False, True):
        execution = DoubleExecution(graph, weights, Options("f32"), extended=extended)
        for case, error in errors(execution, recorded, graph.name).items():
            where = f"{graph.name} ({'newer layers' if extended else 'primitive layers'}): {case}"
            if error > LIMIT:
                raise PlanError(f"{where}: the relative error is {error:.2e}; the limit is {LIMIT:.0e}")
            yield f"{where}: relative error {error:.2e}"


def main(argv: Sequence[str]) -> int:
    """Exit code 0, or an exception."""
    parser = argparse.ArgumentParser(
        "family_plans", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", type=Path, required=True, help="the family's family.json")
    parser.add_argument("--checkpoint", type=Path, required=True, help="a folder with config.json and safetensors")
    args = parser.parse_args(argv)
    checkpoint, family = Checkpoint.open(args.checkpoint), Family.open(args.family)
    for graph in family.record(checkpoint).values():
        weights = arrays(graph, checkpoint)
        for line in itertools.chain(plans(graph, weights), numbers(graph, weights)):
            print(f"{family.name}.{line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
