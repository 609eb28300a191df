"""Reads `graph.json` back into a `Graph`. The text may come from a bundle of unknown origin: every field is checked."""

from __future__ import annotations

import json
from typing import Any

from tools.builder import dims, ops  # noqa: F401  (the ops register their rules)
from tools.builder.graph import Graph, GraphError, Node, Port, Value
from tools.builder.op_rules import DTYPES, OpError, Type

_Fields = dict[str, Any]  # the type of each field
_GRAPH: _Fields = {
    "format": int,
    "name": str,
    "inputs": list,
    "weights": list,
    "nodes": list,
    "outputs": list,
    "caches": list,
}
_VALUE: _Fields = {"id": str, "dtype": str, "shape": list}
_PORT: _Fields = {"name": str, **_VALUE}
_NODE: _Fields = {"op": str, "scope": str, "inputs": list, "attrs": dict, "outputs": list}
_OUTPUT: _Fields = {"name": str, "value": str}
_CACHE: _Fields = {"name": str, "layers": int, "heads": int, "head_dim": int}


def read(text: str) -> Graph:
    """See `Graph.from_json`."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"graph.json is not JSON: {error}") from None
    _closed(body, _GRAPH, "the graph")
    if body["format"] != 1:
        raise GraphError(f"graph.json has format {body['format']}; this version reads format 1")
    graph, values = Graph(body["name"]), dict[str, Value]()
    for kind, ports in (("inputs", graph.inputs), ("weights", graph.weights)):
        for row in body[kind]:
            _closed(row, _PORT, f"an entry of {kind}")
            if any(port.name == row["name"] for port in ports):
                raise GraphError(f"graph.json: {kind} names {row['name']} twice")
            ports.append(Port(row["name"], _define(graph, values, row)))
    for row in body["caches"]:
        _closed(row, _CACHE, "a cache")
        graph.kv_cache(layers=row["layers"], heads=row["heads"], head_dim=row["head_dim"], name=row["name"])
    for index, row in enumerate(body["nodes"]):
        _closed(row, _NODE, f"node {index}")
        graph.nodes.append(_node(graph, values, row, f"node {index} ({row['op']})"))
    for row in body["outputs"]:
        _closed(row, _OUTPUT, "an output")
        graph.output(row["name"], _lookup(values, row["value"], f"output {row['name']}"))
    if set(values) != {f"v{i}" for i in range(len(values))}:
        raise GraphError(f"graph.json defines {len(values)} values, which must be v0 to v{len(values) - 1}")
    graph._count = len(values)
    return graph


def _node(graph: Graph, values: dict[str, Value], row: dict[str, Any], where: str) -> Node:
    inputs = tuple(None if id is None else _lookup(values, id, where) for id in row["inputs"])
    try:
        want = graph._infer(row["op"], inputs, row["attrs"])
    except OpError as error:
        raise GraphError(f"graph.json: {where}: {error}") from None
    outputs = []
    for out in row["outputs"]:
        _closed(out, _VALUE, f"an output of {where}")
        outputs.append(_define(graph, values, out))
    if [value.type for value in outputs] != [want]:
        raise GraphError(
            f"graph.json: {where} states {', '.join(str(v.type) for v in outputs)}; its inputs give {want}"
        )
    return Node(row["op"], row["scope"], inputs, row["attrs"], tuple(outputs))


def _define(graph: Graph, values: dict[str, Value], row: dict[str, Any]) -> Value:
    if row["id"] in values:
        raise GraphError(f"graph.json defines {row['id']} twice")
    if row["dtype"] not in DTYPES:
        raise GraphError(f"graph.json: {row['id']} has the dtype {row['dtype']!r}; dtypes are {', '.join(DTYPES)}")
    try:
        shape = dims.shape_of(row["shape"])
    except ValueError as error:
        raise GraphError(f"graph.json: {row['id']}: {error}") from None
    values[row["id"]] = Value(graph, row["id"], Type(row["dtype"], shape))
    return values[row["id"]]


def _lookup(values: dict[str, Value], id: Any, where: str) -> Value:
    if not isinstance(id, str) or id not in values:
        raise GraphError(f"graph.json: {where} uses {id!r}, which nothing before it defines")
    return values[id]


def _closed(row: Any, fields: _Fields, what: str) -> None:
    if not isinstance(row, dict) or set(row) != set(fields):
        keys = sorted(row) if isinstance(row, dict) else type(row).__name__
        raise GraphError(f"graph.json: {what} has {keys}; it must have exactly {sorted(fields)}")
    for name, kind in fields.items():
        if not isinstance(row[name], kind) or isinstance(row[name], bool):
            raise GraphError(f"graph.json: {name} of {what} is {row[name]!r}, not of type {kind.__name__}")
