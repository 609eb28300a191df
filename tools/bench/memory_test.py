"""What a token reads of a decoder's weights."""

from tools.bench.memory import bytes_per_token

TENSORS = {
    "embed": {"dtype": "F16", "shape": [100, 8]},
    "head": {"dtype": "F16", "shape": [100, 8]},
    "norm": {"dtype": "F32", "shape": [8]},
    "cos": {"dtype": "F32", "shape": [50, 4]},
}


def graph(*nodes):
    names = list(TENSORS)
    return {
        "weights": [{"id": f"v{i}", "name": name} for i, name in enumerate(names)],
        "nodes": [
            {"op": op, "inputs": [f"v{names.index(i)}" if i in names else None for i in inputs]} for op, inputs in nodes
        ],
    }


def test_a_token_reads_matrices_and_vectors_but_no_tables():
    nodes = (
        ("embedding", ["ids", "embed"]),
        ("rope", ["x", "p", "cos"]),
        ("rms_norm", ["x", "norm"]),
        ("linear", ["x", "head"]),
    )
    assert bytes_per_token(graph(*nodes), TENSORS) == 100 * 8 * 2 + 8 * 4


def test_a_tied_table_is_read_whole_and_once():
    nodes = (("embedding", ["ids", "embed"]), ("linear", ["x", "embed"]), ("linear", ["x", "embed"]))
    assert bytes_per_token(graph(*nodes), TENSORS) == 100 * 8 * 2
