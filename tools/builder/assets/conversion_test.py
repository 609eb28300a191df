"""The proof reads many scripts, and names where two tokenizers part."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tools.builder.assets.conversion import CORPUS, prove
from tools.builder.assets.reading import AssetError


def test_TheCorpusIsInManyScripts() -> None:
    letters = {character for text in CORPUS for character in text if character.isalpha()}
    assert len({unicodedata.name(letter, "?").split()[0] for letter in letters}) >= 18
    assert not any(text.startswith(" ") for text in CORPUS)


def test_TheFirstTextThatDiffersIsNamed() -> None:
    letters = {character: index for index, character in enumerate(sorted(set("".join(CORPUS))))}
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    prove(tokenizer, lambda text: [letters[character] for character in text], Path("x.model"), "it")
    with pytest.raises(AssetError, match="x.model cannot be converted: from token 1 of 'Zwölf Box.*' the converted"):
        prove(
            tokenizer,
            lambda text: [-1 if character == "w" and text[0] == "Z" else letters[character] for character in text],
            Path("x.model"),
            "it",
        )
