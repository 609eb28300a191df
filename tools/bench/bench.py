"""Compares Model Connect's speed with that of the libraries it stands beside.

    bazel run //tools/bench -- embedding --bundle minilm.bundle --checkpoint DIR
    bazel run //tools/bench -- generation --bundle decoder.bundle

Contenders take turns in one run (see rounds.py); medians are printed. The last lines say how many times as fast as each
of the others Model Connect is.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from tools.bench import contenders
from tools.bench.rounds import Contender, interleave, ratios, typical

SUBJECT = "mconnect"


def embedding(options: argparse.Namespace) -> list[Contender]:
    """Batches of `--batch` texts of `--tokens` tokens."""
    texts = ["word " * (options.tokens - 2)] * options.batch  # a token each, between [CLS] and [SEP]
    arguments = (texts, options.threads, options.precision)
    rivals = [Contender("openvino", contenders.openvino_embedding, (options.bundle, *arguments))]
    if options.checkpoint:
        rivals.append(
            Contender(
                "transformers f32",
                contenders.transformers_embedding,
                (options.checkpoint, texts, options.threads, "f32"),
            )
        )
    return [Contender(SUBJECT, contenders.ours_embedding, (options.bundle, *arguments)), *rivals]


def generation(options: argparse.Namespace) -> list[Contender]:
    """Greedy continuation of one prompt of `--tokens` tokens by `--new-tokens`."""
    prompt = [3 + i % 1000 for i in range(options.tokens)]
    arguments = (options.bundle, prompt, options.new_tokens, options.threads, options.precision)
    return [
        Contender(SUBJECT, contenders.ours_generation, arguments),
        Contender("openvino-genai", contenders.genai_generation, arguments),
    ]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="embedding|generation")
    folder = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))  # where `bazel run` was called
    for make in (embedding, generation):
        command = commands.add_parser(make.__name__, description=make.__doc__)
        command.set_defaults(contenders=make)
        command.add_argument("--bundle", type=folder.joinpath, required=True)
        command.add_argument("--tokens", type=int, default=128)
        command.add_argument("--threads", type=int, default=2)
        command.add_argument("--precision", choices=("f32", "bf16"), default="f32")
        command.add_argument("--rounds", type=int, default=7)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        if make is embedding:
            command.add_argument(
                "--checkpoint", type=folder.joinpath, help="its checkpoint, to compare with transformers"
            )
            command.add_argument("--batch", type=int, default=8)
        else:
            command.add_argument("--new-tokens", type=int, default=64)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    rounds = interleave(options.contenders(options), options.rounds)
    results = {name: typical(m) for name, m in rounds.items()}
    speedups = ratios(rounds, SUBJECT)
    if options.json:
        print(json.dumps({"results": results, "ratios": speedups}, sort_keys=True))
        return
    for name, measures in results.items():
        print(f"{name:20}", *(f"{key} {value:10.4g}" for key, value in measures.items()))
    for name, measures in speedups.items():
        print(f"{SUBJECT} / {name}:", ", ".join(f"{key} {value:.2f}x" for key, value in measures.items()))


if __name__ == "__main__":
    main()
