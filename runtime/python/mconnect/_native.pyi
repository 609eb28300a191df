"""The native part of mconnect. Every function raises mconnect.Error when it fails."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

def inspect(bundle: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a bundle (docs/architecture.md) and its "id", without loading it."""

class Model:
    """A bundle loaded for one device. Copies share it; it may be used from many threads."""

    @staticmethod
    def load(
        bundle: str | os.PathLike[str],
        *,
        device: str = "auto",
        precision: str = "f32",
        threads: int = 0,
        store: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Loads a .bundle file, or a folder made by `mconnect unpack`.

        Args:
            device: "auto", "cpu", "gpu" or "gpu:1".
            precision: "f32", or "bf16": faster on CPUs that have it.
            threads: of one run on the CPU; 0: one for each core.
            store: where bundles are unpacked to; None: $MCONNECT_STORE, else the user's cache folder.
        """

    @property
    def id(self) -> str:
        """sha256 of the manifest, 64 hex digits."""
    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def tasks(self) -> list[str]:
        """For example ["text-embedding"]."""
    @property
    def modules(self) -> list[str]:
        """Names for module()."""
    @property
    def device(self) -> str:
        """The device that was chosen."""
    @property
    def precision(self) -> str: ...
    def module(self, name: str) -> Module: ...
    def asset(self, name: str) -> bytes:
        """The bytes of an asset, for example of "tokenizer"."""
    def tokenizer(self) -> Tokenizer: ...
    def text_embedding(self) -> TextEmbedding: ...
    def text_generation(self) -> TextGeneration: ...

class TensorInfo:
    """An input or output of a module."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str:
        """ "f32", "i64", ..."""
    @property
    def shape(self) -> list[str]:
        """A number ("384") or a symbol ("batch") for each dimension."""

class Module:
    """One graph of a model. May be used from many threads."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> list[TensorInfo]: ...
    @property
    def outputs(self) -> list[TensorInfo]: ...
    @property
    def stateful(self) -> bool:
        """Whether runs of one session share state, such as a key/value cache."""
    @property
    def engine(self) -> str: ...
    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Runs once with an empty state. C-contiguous inputs are read in place; outputs are the caller's own."""
    def session(self) -> Session:
        """A line of execution with an empty state of its own."""

class Session:
    """Runs that follow each other and share state. Belongs to one thread at a time."""

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]: ...
    def reset(self) -> None:
        """Empties the state."""

class Embeddings:
    @property
    def vectors(self) -> NDArray[np.float32]:
        """[texts, dimension]: row i belongs to text i."""
    @property
    def tokens(self) -> list[int]:
        """Tokens of each text that were used, special ones included."""
    @property
    def truncated(self) -> list[bool]:
        """Whether text i was longer than max_tokens."""

class TextEmbedding:
    """Texts in, one vector for each out. May be used from many threads."""

    @property
    def dimension(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    def embed(
        self,
        texts: Iterable[str],
        *,
        batch_size: int = 32,
        normalize: bool | None = None,
        max_tokens: int | None = None,
    ) -> NDArray[np.float32]:
        """Vectors [texts, dimension] whose dot products (of normalized vectors) are cosines of meaning.

        Args:
            texts: any number, none included. Texts over max_tokens are cut at the end.
            batch_size: texts that run together, 1 to 4096.
            normalize: scale each vector to length 1; None: as the model was trained.
            max_tokens: cut texts to that many tokens; None: the model's limit.
        """

    def embed_detailed(
        self,
        texts: Iterable[str],
        *,
        batch_size: int = 32,
        normalize: bool | None = None,
        max_tokens: int | None = None,
    ) -> Embeddings:
        """As embed(), and how many tokens each text had and whether it was cut."""

class Generation:
    """A finished continuation."""

    @property
    def text(self) -> str:
        """The continuation alone."""
    @property
    def ids(self) -> list[int]: ...
    @property
    def finish_reason(self) -> str:
        """ "eos", "stop", "length", "cancelled" or "timeout"."""
    @property
    def logprobs(self) -> list[TokenLogprob]:
        """One for each id where asked for."""
    @property
    def score(self) -> float:
        """Of beam search: the sum of log-probabilities over length ** length_penalty."""
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int:
        """Of them, those that a TextSession had in its cache."""
    @property
    def completion_tokens(self) -> int: ...
    @property
    def prefill_seconds(self) -> float: ...
    @property
    def decode_seconds(self) -> float: ...

class TokenLogprob:
    """Natural logarithms of probabilities as the model gives them: before temperature, penalties, bias and masks."""

    @property
    def id(self) -> int: ...
    @property
    def logprob(self) -> float: ...
    @property
    def top(self) -> list[tuple[int, float]]:
        """The most probable tokens, the best first."""

class Score:
    @property
    def ids(self) -> list[int]: ...
    @property
    def logprobs(self) -> list[float]:
        """Of ids[1], ids[2], ... given all before."""
    @property
    def log_likelihood(self) -> float: ...
    @property
    def perplexity(self) -> float: ...

class TextStream(Iterator[str]):
    """Pieces of a continuation as they become final. Dropping it stops the generation."""

    def __next__(self) -> str: ...
    def cancel(self) -> None:
        """Ends the generation; the pieces that are ready can still be read."""
    def result(self) -> Generation:
        """Reads to the end and returns the whole."""

class TextSession:
    """Prompts that follow each other, as the turns of a conversation do: what a prompt has in common with the one
    before and its continuation is not computed again. Keeps that cache, and memory for it, as long as it lives. Calls
    from several threads wait for each other.

    Methods and their options are those of TextGeneration.
    """

    def generate(
        self, prompt: str | Sequence[int], *, on_text: Callable[[str], object] | None = None, **options: Any
    ) -> Generation: ...
    def stream(self, prompt: str | Sequence[int], **options: Any) -> TextStream: ...
    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], object] | None = None,
        **options: Any,
    ) -> Generation: ...
    def reset(self) -> None:
        """Empties the cache and gives its memory back."""

class TextGeneration:
    """A prompt in, its continuation out. May be used from many threads."""

    @property
    def max_tokens(self) -> int:
        """The context: prompt and continuation together."""
    def generate(
        self,
        prompt: str | Sequence[int],
        *,
        on_text: Callable[[str], object] | None = None,
        max_new_tokens: int | None = None,
        min_new_tokens: int = 0,
        stop: Iterable[str] | None = None,
        greedy: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float = 0,
        frequency_penalty: float = 0,
        logit_bias: Mapping[int, float] | None = None,
        seed: int = 0,
        num_beams: int = 1,
        length_penalty: float = 1,
        early_stopping: bool | Literal["never"] = False,
        logprobs: bool = False,
        top_logprobs: int = 0,
        json_schema: Mapping[str, Any] | bool | str | None = None,
        regex: str | None = None,
        choice: Iterable[str] | None = None,
        timeout: float | None = None,
        ignore_eos: bool = False,
    ) -> Generation:
        """Continues a text or token ids. What is None comes from the bundle; where that has none, decoding is greedy.

        Args:
            on_text: called with each piece of text on the calling thread; what it raises ends the generation.
            max_new_tokens: at least 1; None: 256, or what the context has room for.
            min_new_tokens: the text does not end before.
            stop: texts that end the generation; not part of the result.
            greedy: always take the most probable token.
            temperature: > 0.
            top_k: >= 0; 0: no limit.
            top_p: (0, 1].
            min_p: [0, 1].
            repetition_penalty: > 0; 1: none.
            presence_penalty: subtracted once from the logits of tokens of the continuation.
            frequency_penalty: subtracted for each time that a token is in the continuation.
            logit_bias: added to the logits of token ids; -inf forbids one.
            seed: same seed, same logits: same tokens, on every machine.
            num_beams: above 1: beam search, which returns the best continuation.
            length_penalty: scores of beam search are divided by length ** length_penalty.
            early_stopping: as in transformers.
            logprobs: report the log-probability of each token.
            top_logprobs: and the most probable ones at its place, 0 to 20.
            json_schema: write JSON that is valid under it (docs/text-generation.md). `{}` admits any JSON.
            regex: write what it matches from end to end.
            choice: write one of these.
            timeout: seconds; then the generation ends with what there is.
            ignore_eos: go on to max_new_tokens.
        """

    def stream(
        self,
        prompt: str | Sequence[int],
        *,
        max_new_tokens: int | None = None,
        min_new_tokens: int = 0,
        stop: Iterable[str] | None = None,
        greedy: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float = 0,
        frequency_penalty: float = 0,
        logit_bias: Mapping[int, float] | None = None,
        seed: int = 0,
        num_beams: int = 1,
        length_penalty: float = 1,
        early_stopping: bool | Literal["never"] = False,
        logprobs: bool = False,
        top_logprobs: int = 0,
        json_schema: Mapping[str, Any] | bool | str | None = None,
        regex: str | None = None,
        choice: Iterable[str] | None = None,
        timeout: float | None = None,
        ignore_eos: bool = False,
    ) -> TextStream:
        """As generate(), but starts at once and is read piece by piece."""

    def generate_batch(
        self,
        prompts: Iterable[str | Sequence[int]],
        *,
        n: int = 1,
        max_new_tokens: int | None = None,
        min_new_tokens: int = 0,
        stop: Iterable[str] | None = None,
        greedy: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float = 0,
        frequency_penalty: float = 0,
        logit_bias: Mapping[int, float] | None = None,
        seed: int = 0,
        num_beams: int = 1,
        length_penalty: float = 1,
        early_stopping: bool | Literal["never"] = False,
        logprobs: bool = False,
        top_logprobs: int = 0,
        json_schema: Mapping[str, Any] | bool | str | None = None,
        regex: str | None = None,
        choice: Iterable[str] | None = None,
        timeout: float | None = None,
        ignore_eos: bool = False,
    ) -> list[Generation]:
        """Continues prompts together, each `n` times: continuation j of prompt i is at i*n + j. Ctrl-C stops it."""

    @property
    def has_chat_template(self) -> bool: ...
    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        on_text: Callable[[str], object] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        template_name: str | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        allow_special_tokens_in_content: bool = False,
        max_new_tokens: int | None = None,
        min_new_tokens: int = 0,
        stop: Iterable[str] | None = None,
        greedy: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        presence_penalty: float = 0,
        frequency_penalty: float = 0,
        logit_bias: Mapping[int, float] | None = None,
        seed: int = 0,
        num_beams: int = 1,
        length_penalty: float = 1,
        early_stopping: bool | Literal["never"] = False,
        logprobs: bool = False,
        top_logprobs: int = 0,
        json_schema: Mapping[str, Any] | bool | str | None = None,
        regex: str | None = None,
        choice: Iterable[str] | None = None,
        timeout: float | None = None,
        ignore_eos: bool = False,
    ) -> Generation:
        """Answers a conversation: encode_chat(), then generate()."""

    def session(self) -> TextSession:
        """For prompts that follow each other."""
    def encode_chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        template_name: str | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        allow_special_tokens_in_content: bool = False,
    ) -> list[int]:
        """The tokens of a conversation by the model's chat template, for generate() and stream().

        Args:
            messages: [{"role": "user", "content": "..."}, ...].
            tools: descriptions of tools, as JSON schemas.
            variables: further variables of the template, such as {"enable_thinking": False}.
            template_name: where the model has several.
            add_generation_prompt: end with the beginning of an answer.
            continue_final_message: end inside of the last message, for the model to go on with it.
            allow_special_tokens_in_content: let special tokens that stand in messages act as such.
        """

    def score(self, text: str | Sequence[int]) -> Score:
        """How probable the model finds a text."""

class Tokenizer:
    """Text to token ids and back, as the tokenizers library does it. May be used from many threads."""

    @staticmethod
    def from_json(tokenizer_json: str) -> Tokenizer:
        """From the text of a tokenizer.json."""
    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Neither cut nor padded. Half of a surrogate pair counts as U+FFFD."""
    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """Ids beyond the vocabulary are left out, as by the tokenizers library; what is no id is refused."""

    def token_to_id(self, token: str) -> int | None: ...
    def id_to_token(self, id: int) -> str | None: ...
    @property
    def vocab_size(self) -> int: ...
