"""SentencePiece models (`tokenizer.model`, `spiece.model`, `sentencepiece.bpe.model`) as tokenizers.

Follows the model's own settings, as transformers' `SpmConverter.build_tokenizer_from_spm_proto` does. Format:
https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tools.builder.assets.conversion import prove
from tools.builder.assets.reading import AssetError

NAMES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model")
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # types of pieces
_UNIGRAM, _BPE = 1, 2  # types of models
_MAX_PIECES = 1 << 22


@dataclass(frozen=True)
class SentencePiece:
    """What a model says of its pieces and of what is done to a text before."""

    path: Path
    pieces: Sequence[tuple[str, float, int]]  # piece, score (a logarithm), type
    unigram: bool
    byte_fallback: bool
    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    unk_id: int
    named: dict[str, str]  # bos_token, eos_token, unk_token, pad_token

    @property
    def added(self) -> list[AddedToken]:
        """Control pieces, which are special, and pieces that the maker defined, which are not."""
        return [
            AddedToken(piece, normalized=False, special=kind == _CONTROL)
            for piece, _, kind in self.pieces
            if kind in (_CONTROL, _USER_DEFINED)
        ]

    def vocabulary(self) -> dict[str, int]:
        """The ids of the pieces."""
        return {piece: index for index, (piece, _, _) in enumerate(self.pieces)}

    def scores(self) -> list[tuple[str, float]]:
        """The pieces of a Unigram model with their scores."""
        return [(piece, score) for piece, score, _ in self.pieces]

    def merges(self) -> list[tuple[str, str]]:
        """Cuts of normal pieces into two others, best score first."""
        normal = {piece: (-score, index) for index, (piece, score, kind) in enumerate(self.pieces) if kind == _NORMAL}
        ranked = []
        for piece, rank in normal.items():
            cuts = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
            ranked += [(*rank, left, right) for left, right in cuts if left in normal and right in normal]
        return [(left, right) for _, _, left, right in sorted(ranked)]

    def tokenizer(self, legacy: bool = True) -> Tokenizer:
        """A tokenizer of this model. Each text between added tokens gets a space before it if `legacy`, else only the
        first."""
        defined = [piece for piece, _, kind in self.pieces if kind == _USER_DEFINED]
        if self.unigram:
            model: models.Model = models.Unigram(self.scores(), unk_id=self.unk_id, byte_fallback=self.byte_fallback)
        else:
            model = models.BPE(
                vocab=self.vocabulary(),
                merges=self.merges(),
                unk_token=self.pieces[self.unk_id][0],
                fuse_unk=True,
                byte_fallback=self.byte_fallback,
                dropout=None,
                ignore_merges=bool(defined),
            )
        tokenizer = Tokenizer(model)
        tokenizer.normalizer = normalizers.Sequence(self._normalizers(legacy))
        steps: list[pre_tokenizers.PreTokenizer] = []
        if self.add_dummy_prefix:
            scheme = "always" if legacy else "first"
            steps.append(pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False))
        if defined:
            pattern = "|".join(re.escape(piece) for piece in sorted(defined, key=len, reverse=True))
            steps.append(pre_tokenizers.Split(Regex(pattern), behavior="isolated"))
        if steps:
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
        after: list[decoders.Decoder] = [decoders.Replace("▁", " ")]
        if self.byte_fallback:
            after.append(decoders.ByteFallback())
        if self.add_dummy_prefix:
            after += [decoders.Fuse(), decoders.Strip(content=" ", left=1)]
        elif self.byte_fallback:
            after.append(decoders.Fuse())
        tokenizer.decoder = decoders.Sequence(after)
        return tokenizer

    def _normalizers(self, legacy: bool) -> list[normalizers.Normalizer]:
        steps: list[normalizers.Normalizer] = []
        if self.charsmap:
            steps.append(normalizers.Precompiled(self.charsmap))
        if self.remove_extra_whitespaces:  # spaces alone; other white space stays
            steps += [normalizers.Replace(Regex(r"\A +| +\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
        if self.escape_whitespaces:
            steps.append(normalizers.Replace(" ", "▁"))
        if self.add_dummy_prefix and legacy:  # Metaspace takes a leading ▁ for the prefix, SentencePiece does not
            steps.append(normalizers.Replace(Regex(r"\A▁"), "▁▁"))
        return steps

    def prove(self, tokenizer: Tokenizer, offset: int = 0) -> None:
        """Holds `tokenizer`, whose ids are `offset` above the model's, against SentencePiece. Raises AssetError."""
        original = sentencepiece.SentencePieceProcessor(model_file=str(self.path))

        unknown = tokenizer.token_to_id(self.pieces[self.unk_id][0])

        def encode(text: str) -> list[int]:
            ids: list[int] = original.encode(text)
            return [-1 if unknown is None else unknown if index == self.unk_id else index + offset for index in ids]

        prove(tokenizer, encode, self.path, "SentencePiece")


def read_sentencepiece(path: Path) -> SentencePiece:
    """Reads a model. Raises AssetError naming what is wrong with it."""
    proto = sentencepiece_model_pb2.ModelProto()
    try:
        proto.ParseFromString(path.read_bytes())
    except DecodeError:
        raise AssetError(f"{path} is no SentencePiece model: it does not parse") from None
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    pieces = [(piece.piece, piece.score, piece.type) for piece in proto.pieces]
    if trainer.model_type not in (_UNIGRAM, _BPE):
        raise AssetError(f"{path}: the model is of type {trainer.model_type}; read are unigram (1) and BPE (2)")
    if not 0 <= trainer.unk_id < len(pieces) <= _MAX_PIECES:
        raise AssetError(f"{path}: token {trainer.unk_id} of {len(pieces)} stands for what is unknown")
    if len({piece for piece, _, _ in pieces}) != len(pieces):
        raise AssetError(f"{path} holds the same piece twice")
    if trainer.treat_whitespace_as_suffix:
        raise AssetError(f"{path}: treat_whitespace_as_suffix is set, which tokenizer.json cannot express")
    ids = {
        "bos_token": trainer.bos_id,
        "eos_token": trainer.eos_id,
        "unk_token": trainer.unk_id,
        "pad_token": trainer.pad_id,
    }
    return SentencePiece(
        path=path,
        pieces=pieces,
        unigram=trainer.model_type == _UNIGRAM,
        byte_fallback=trainer.byte_fallback,
        charsmap=normalizer.precompiled_charsmap,
        add_dummy_prefix=normalizer.add_dummy_prefix,
        remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
        escape_whitespaces=normalizer.escape_whitespaces,
        unk_id=trainer.unk_id,
        named={name: pieces[index][0] for name, index in ids.items() if 0 <= index < len(pieces)},
    )
