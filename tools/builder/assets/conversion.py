"""The proof that a converted tokenizer gives the ids of the library that its file was made for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from tools.builder.assets.reading import AssetError

CORPUS: Sequence[str] = (
    "The quick brown fox jumps over the lazy dog, doesn't it? They'd WE'LL 1234567890 times (3.14159 or 2,718.28).",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; 49,90 €.",
    "Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis. L’été à 18 h 30…",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío. ¿Añoraba? ¡Sí!",
    "Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul'da ığdır.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα σας βδελυγμία.",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה.",
    "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت ١٢٣.",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश।",
    "আমি বাংলায় গান গাই। தமிழ் மொழி இனிது. తెలుగు భాష.",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน",
    "いろはにほへと ちりぬるを。ｶﾀｶﾅ　全角　Ｆｕｌｌ　１２３",
    "天地玄黃，宇宙洪荒。简体中文：你好，世界！𠮷野家",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.",
    "Kæmi ný öxi hér, ykist þjófum nú. Ἀρχιμήδης ሰላም ལྷ་ས ქართული հայերեն",
    "emoji 😀👍🏽 family 👩‍👩‍👧‍👦 flag 🇩🇪 keycap 1️⃣ math ∑∫√∞≠ arrows →⇒ box ┌─┐",
    "e\u0301 decomposed, \ufb01 ligature, ½ ² ™ № \u00a0non\u2009breaking\u200bzero\u00adwidth",
    "def f(x: int) -> int:\n    if x > 0:\n\t\treturn x ** 2  # square\n\n\n    return -x\r\n",
    '{"key": [1, 2.5e-3, null, "\\u00e9"], "url": "https://example.org/a?b=c&d=%20#e"}',
    "<html><body class='x'>&amp; <!-- note --></body></html>  a  b   c    d     e",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa !!!!!!!!!! ======== -------- ........",
    "x\u0000y\u0001z \ufffd \U0010ffff",
    "trailing spaces   ",
    "line\n\n",
    "a",
    "",
)
"""Texts in thirty scripts. None begins with a space: there the reference library's classes and SentencePiece differ."""


def prove(tokenizer: Tokenizer, original: Callable[[str], Sequence[int]], path: Path, library: str) -> None:
    """Raises AssetError naming the first text of the corpus for which `tokenizer` and `original` give different ids."""
    for text in CORPUS:
        want, got = list(original(text)), tokenizer.encode(text, add_special_tokens=False).ids
        if got != want:
            at = next((i for i, pair in enumerate(zip(got, want, strict=False)) if pair[0] != pair[1]), len(want))
            raise AssetError(
                f"{path} cannot be converted: from token {at} of {text[:60]!r} the converted tokenizer gives "
                f"{got[at : at + 4]} and {library} {want[at : at + 4]}"
            )
