"""The files around a tiny checkpoint's weights: tokenizer, chat template, generation and pooling settings."""

from __future__ import annotations

from typing import Any

from tools.builder.tiny import byte_bpe, wordpiece
from tools.builder.tiny.text import TEXT

TOKENIZERS = (*byte_bpe.DIALECTS, "wordpiece")

_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
    "{{ message.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
# bos, end of text, end of a turn, padding, chat template
_ROLES: dict[str, tuple[str | None, list[str], str, str | None]] = {
    "gpt2": ("<|endoftext|>", ["<|endoftext|>"], "<|endoftext|>", None),
    "qwen2": (None, ["<|im_end|>", "<|endoftext|>"], "<|endoftext|>", _CHATML),
    "llama3": ("<|begin_of_text|>", ["<|end_of_text|>", "<|eot_id|>"], "<|end_of_text|>", _LLAMA3),
}


def make(tokenizer: str, vocab: int, hidden: int, context: int) -> dict[str, Any]:
    """The JSON files by path, for `vocab` tokens, hidden states of `hidden` numbers and `context` tokens at most."""
    if tokenizer == "wordpiece":
        return _embedding(vocab, hidden, context)
    body = byte_bpe.make(tokenizer, vocab, TEXT)
    ids = {token["content"]: token["id"] for token in body["added_tokens"]}
    bos, ends, pad, template = _ROLES[tokenizer]
    eos = [ids[name] for name in ends]
    generation: dict[str, Any] = {"eos_token_id": eos if len(eos) > 1 else eos[0], "pad_token_id": ids[pad]}
    named = {"eos_token": ends[0], "pad_token": pad}
    if bos:
        generation["bos_token_id"], named["bos_token"] = ids[bos], bos
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context, **named}
    if template:
        settings["chat_template"] = template
        generation |= {"do_sample": True, "temperature": 0.7, "top_k": 20, "top_p": 0.8}
    return {"tokenizer.json": body, "tokenizer_config.json": settings, "generation_config.json": generation}


def _embedding(vocab: int, hidden: int, context: int) -> dict[str, Any]:
    body = wordpiece.make(vocab, TEXT)
    roles = zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), wordpiece.SPECIAL, strict=True)
    modules = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    return {
        "tokenizer.json": body,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": context,
            **dict(roles),
        },
        "sentence_bert_config.json": {"do_lower_case": False, "max_seq_length": context},
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules)
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": hidden,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        },
    }
