"""Compares Model Connect's speed with that of the libraries it stands beside.

    bazel run //tools/bench -- embedding --bundle minilm.bundle --checkpoint DIR
    bazel run //tools/bench -- generation --bundle decoder.bundle
    bazel run //tools/bench -- tokenization --tokenizer tokenizer.json --text text.txt

Contenders take turns in one run (see rounds.py); medians are printed. The last lines say how many times as fast as each
of the others Model Connect is.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from tools.bench import embedding as embedders
from tools.bench import generation as generators
from tools.bench import tokenization as tokenizers
from tools.bench.memory import memory
from tools.bench.rounds import Contender, interleave, ratios, typical

SUBJECT = "mconnect"


def embedding(options: argparse.Namespace) -> list[Contender]:
    """Batches of `--batch` texts of `--tokens` tokens."""
    texts = ["word " * (options.tokens - 2)] * options.batch  # a token each, between [CLS] and [SEP]
    work = (texts, options.threads)
    contenders = [
        Contender(SUBJECT, embedders.mconnect, (options.bundle, *work, options.precision)),
        Contender("openvino", embedders.openvino, (options.bundle, *work, options.precision)),
    ]
    if options.checkpoint:
        contenders.append(
            Contender("transformers f32", embedders.transformers, (options.checkpoint, *work, "f32")),
        )
    return contenders


def generation(options: argparse.Namespace) -> list[Contender]:
    """Greedy continuation of one prompt of `--tokens` tokens by `--new-tokens`."""
    work = ([3 + i % 1000 for i in range(options.tokens)], options.new_tokens, options.threads)
    contenders = [
        Contender(SUBJECT, generators.mconnect, (options.bundle, *work, options.precision)),
        Contender("openvino-genai", generators.openvino_genai, (options.bundle, *work, options.precision)),
        Contender("memory", memory, (options.bundle, options.threads)),
    ]
    if options.checkpoint:
        contenders.append(Contender("transformers f32", generators.transformers, (options.checkpoint, *work)))
    if options.onnx:
        contenders.append(Contender("onnxruntime-genai", generators.onnxruntime_genai, (options.onnx, *work)))
    if options.gguf:
        contenders.append(Contender("llama.cpp", generators.llama_cpp, (options.gguf, *work)))
    return contenders


def tokenization(options: argparse.Namespace) -> list[Contender]:
    """A text to ids, as a whole and line by line, on one thread."""
    work = (options.tokenizer, options.text)
    program = os.path.abspath(os.environ["TOKENIZER_BENCHMARK"])
    return [
        Contender(SUBJECT, tokenizers.mconnect, work),
        Contender("mconnect C++, with offsets", tokenizers.mconnect_offsets, (program, *work)),
        Contender("tokenizers", tokenizers.tokenizers, work),
        Contender("tokenizers, no offsets", tokenizers.tokenizers_fast, work),
    ]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="embedding|generation|tokenization")
    folder = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))  # where `bazel run` was called
    for make in (embedding, generation, tokenization):
        command = commands.add_parser(make.__name__, description=make.__doc__)
        command.set_defaults(contenders=make)
        command.add_argument("--rounds", type=int, default=7)
        command.add_argument("--json", action="store_true", help="print one JSON object")
        if make is tokenization:
            command.add_argument("--tokenizer", type=folder.joinpath, required=True, help="a tokenizer.json")
            command.add_argument("--text", type=folder.joinpath, required=True, help="a file of text in UTF-8")
            continue
        command.add_argument("--bundle", type=folder.joinpath, required=True)
        command.add_argument("--tokens", type=int, default=128)
        command.add_argument("--threads", type=int, default=2)
        command.add_argument("--precision", choices=("f32", "bf16"), default="f32")
        command.add_argument("--checkpoint", type=folder.joinpath, help="its checkpoint, to compare with transformers")
        if make is embedding:
            command.add_argument("--batch", type=int, default=8)
        else:
            command.add_argument("--new-tokens", type=int, default=64)
            command.add_argument(
                "--onnx", type=folder.joinpath, help="the model as onnxruntime-genai's builder writes it (a folder)"
            )
            command.add_argument("--gguf", type=folder.joinpath, help="the model as a GGUF file, for llama.cpp")
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
        print(f"{name:26}", *(f"{key} {value:10.4g}" for key, value in measures.items()))
    for name, measures in speedups.items():
        print(f"{SUBJECT} / {name}:", ", ".join(f"{key} {value:.2f}x" for key, value in measures.items()))


if __name__ == "__main__":
    main()
