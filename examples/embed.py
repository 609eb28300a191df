"""Embeds the lines of a file through the Python package and prints the three closest to a question.

bazel run //examples:embed_py -- $PWD/BUNDLE $PWD/SENTENCES.txt QUESTION
"""

import sys
from pathlib import Path

import mconnect
import numpy as np


def main(bundle: str, path: str, question: str) -> None:
    sentences = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line]
    embedding = mconnect.Model.load(bundle).text_embedding()

    vectors = embedding.embed(sentences, normalize=True)  # float32 [sentences, dimension]
    scores = vectors @ embedding.embed([question], normalize=True)[0]  # cosines

    for i in np.argsort(-scores)[:3]:
        print(f"{scores[i]:.3f}  {sentences[i]}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: embed.py BUNDLE SENTENCES.txt QUESTION")
    try:
        main(*sys.argv[1:])
    except (mconnect.Error, OSError) as error:
        sys.exit(f"error: {error}")
