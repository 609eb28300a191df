from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from tools.builder.config import ConfigError, alias, read
from tools.builder.rope import Rope


@dataclass(frozen=True)
class Config:
    hidden_size: int = 64
    eps: float = 1e-6
    heads: int | None = None
    act: Literal["silu", "gelu"] = "silu"
    bias: bool = False
    causal: Literal[True] = True
    layers: list[str] | None = None
    width: int = alias("n_embd", "d_model", default=7)
    rope: Rope = field(default_factory=Rope)


def test_AbsentFieldsTakeTheirDefaults() -> None:
    assert read(Config, {}) == Config()


def test_ReadsAListOfTheTypeAskedFor() -> None:
    assert read(Config, {"layers": ["full", "window"]}).layers == ["full", "window"]


def test_ReadsWhatIsGivenAndIgnoresWhatIsNotNamed() -> None:
    given = {"hidden_size": 8, "eps": 1, "heads": None, "act": "gelu", "n_embd": 9, "rope_theta": 5, "torch_dtype": "x"}
    assert read(Config, given) == Config(8, 1.0, None, "gelu", width=9, rope=Rope(5.0))


@pytest.mark.parametrize(
    "raw, reason",
    [
        ({"hidden_size": "64"}, "hidden_size is '64'; it must be an integer"),
        ({"hidden_size": 64.0}, "hidden_size is 64.0"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"hidden_size": None}, "hidden_size is None"),
        ({"eps": "small"}, "eps is 'small'; it must be a finite number"),
        ({"eps": float("nan")}, "eps is nan; it must be a finite number"),
        ({"eps": float("inf")}, "eps is inf; it must be a finite number"),
        ({"eps": 10**400}, "eps is 1000"),
        ({"heads": 1.5}, "heads is 1.5; it must be an integer or null"),
        ({"act": "swishy"}, "act is 'swishy'; it must be 'silu' or 'gelu'"),
        ({"bias": 1}, "bias is 1; it must be true or false"),
        ({"causal": False}, "causal is False; it must be True"),
        ({"causal": 1}, "causal is 1"),
        ({"layers": "full"}, "layers is 'full'; it must be a list or null"),
        ({"layers": ["full", 2]}, r"layers\[1\] is 2; it must be a str"),
        ({"width": 1, "n_embd": 2}, "width and n_embd mean the same and differ"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config 'awq'"),
        ({"rope_theta": 0}, "rope_theta is 0; it must be a number above 0"),
    ],
)
def test_AnUninterpretableValueNamesItsField(raw: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read(Config, raw)
