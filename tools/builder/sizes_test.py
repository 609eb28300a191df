"""A size that no model has, or that is not that of the tensors, is refused by the field's name."""

from __future__ import annotations

from typing import Any

import pytest

from tools.builder.sizes import LIMITS, SizeError, check, check_tensors

NAN, INFINITY = float("nan"), float("inf")
CONFIG = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 160, "vocab_size": 512, "max_position_embeddings": 256, "rms_norm_eps": 1e-6,
}  # fmt: skip
TENSORS: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (512, 64), "lm_head.weight": (512, 64)}
for layer in ("model.layers.0", "model.layers.1"):
    TENSORS |= {
        f"{layer}.input_layernorm.weight": (64,),
        f"{layer}.self_attn.q_proj.weight": (64, 64),
        f"{layer}.self_attn.k_proj.weight": (32, 64),
        f"{layer}.self_attn.o_proj.weight": (64, 64),
        f"{layer}.mlp.gate_proj.weight": (160, 64),
        f"{layer}.mlp.down_proj.weight": (64, 160),
        f"{layer}.mlp.experts.0.gate_proj.weight": (7, 64),
        f"{layer}.block_sparse_moe.experts.10.w1.weight": (160, 64),
        f"{layer}.block_sparse_moe.experts.10.w2.weight": (64, 160),
    }


def test_SizesOfAModelPass() -> None:
    check(CONFIG)
    check_tensors(CONFIG, TENSORS)
    check({})
    check(dict.fromkeys(LIMITS))
    check({"n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": None, "num_experts": 0, "layer_norm_epsilon": 1e-5})
    check_tensors({}, TENSORS)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [-64, 10**12, 16.0, True, "64", NAN, INFINITY, [1], 10**2000])
def test_ASizeThatNoModelHasIsRefusedByName(name: str, value: Any) -> None:
    with pytest.raises(SizeError, match=f"config.json: {name} is .*; it must be an integer from . to .*; correct the"):
        check({name: value})


@pytest.mark.parametrize("name", [name for name, (least, _) in LIMITS.items() if least == 1])
def test_NothingIsNoSize(name: str) -> None:
    with pytest.raises(SizeError, match=f"config.json: {name} is 0; it must be an integer from 1"):
        check({name: 0})


def test_TheLimitsThemselvesPass() -> None:
    for name, (least, most) in LIMITS.items():
        check({name: least})
        check({name: most})
        with pytest.raises(SizeError, match=f"{name} is {most + 1}; .* to {most}"):
            check({name: most + 1})


@pytest.mark.parametrize("value", [0, -1e-6, 2, NAN, INFINITY, True, "1e-6", 10**400])
@pytest.mark.parametrize("name", ["rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"])
def test_AnEpsilonIsASmallPositiveNumber(name: str, value: Any) -> None:
    with pytest.raises(SizeError, match=f"config.json: {name} is .*; it must be a number above 0, up to 1; correct"):
        check({name: value})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"num_attention_heads": 3}, "hidden_size 64 does not divide into num_attention_heads 3, and head_dim is not"),
        ({"num_key_value_heads": 3}, "num_attention_heads 4 does not divide into num_key_value_heads 3; correct"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "num_experts_per_tok is 5, and num_experts only 4; correct"),
    ],
)
def test_SizesThatExcludeEachOtherAreRefused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SizeError, match=f"config.json: {reason}"):
        check({**CONFIG, **changes})


def test_HeadsNeedNotDivideTheHiddenSizeWhereTheirSizeIsStated() -> None:
    check({**CONFIG, "num_attention_heads": 6, "head_dim": 16})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden_size": 128}, r"hidden_size is 128, and axis 1 of the tensor lm_head.weight \[512, 64\] is 64"),
        ({"vocab_size": 500}, "vocab_size is 500, and axis 0 of the tensor lm_head.weight"),
        ({"num_hidden_layers": 3}, "num_hidden_layers is 3, and there are tensors of 2 layers"),
        (
            {"intermediate_size": 96},
            "intermediate_size is 96, and axis 0 of the tensor model.layers.0.block_sparse_moe",
        ),
        ({"head_dim": 32}, "num_key_value_heads · head_dim is 64, and axis 0 of the tensor .*k_proj.* is 32"),
        ({"num_attention_heads": 8}, "num_key_value_heads · hidden_size/num_attention_heads is 16, and axis 0"),
        ({"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16}, "num_attention_heads · head_dim is 128"),
        (
            {"num_key_value_heads": None},
            "num_attention_heads · hidden_size/num_attention_heads is 64, and axis 0 .*k_p",
        ),
    ],
)
def test_ASizeThatIsNotThatOfTheTensorsNamesBoth(changes: dict[str, Any], reason: str) -> None:
    config = {**CONFIG, **changes}
    check(config)
    with pytest.raises(SizeError, match=f"config.json: {reason}.*not of one checkpoint: fetch both again"):
        check_tensors(config, TENSORS)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"num_key_value_heads": 4},
            r"\(num_attention_heads \+ 2 · num_key_value_heads\) · .* is 192, and axis 0 .*qkv",
        ),
        ({"intermediate_size": 96}, "2 · intermediate_size is 192, and axis 0 of the tensor .*gate_up_proj.* is 320"),
    ],
)
def test_FusedTensorsAreHeldAgainstTheSumOfTheirParts(changes: dict[str, Any], reason: str) -> None:
    layer = "model.layers.1"
    fused = {f"{layer}.self_attn.qkv_proj.weight": (128, 64), f"{layer}.mlp.gate_up_proj.weight": (320, 64)}
    check_tensors(CONFIG, fused)
    with pytest.raises(SizeError, match=reason):
        check_tensors({**CONFIG, **changes}, fused)
