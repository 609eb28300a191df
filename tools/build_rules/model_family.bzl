"""model_family: the targets that every model family has."""

load("@rules_python//python:defs.bzl", "py_library", "py_test")
load(":model_bundle.bzl", "model_bundle", "tiny_checkpoint")

def model_family(name, tiny = "tiny.json", checkpoints = {}, srcs = None, options = [], visibility = ["//visibility:public"]):
    """Declares the family NAME in its own package, from NAME.py and the family.json beside it.

    Makes:
      :NAME             py_library of the family's code and its family.json
      :tiny_checkpoint  a checkpoint folder made from `tiny`, the same bytes on every machine
      :bundle           the bundle built from it
      :bundle_KEY       for each pinned checkpoint, the bundle built from that one
      :parity_test      the reference lowering and the engine against the reference library, in f32
      :runtime_test     the same bundle through the native runtime
      :plan_test        TensorRT-RTX builds the tiny checkpoint's plans, for every GPU that it knows; needs no GPU

    Each action depends on this package and tools/builder alone, so that a change to one family reruns that family's.

    Args:
      name: of the family; equal to `name` in family.json.
      tiny: file that describes the tiny checkpoint to //tools/builder/tiny:make_tiny.
      checkpoints: {key: label of a checkpoint} such as {"minilm": "@minilm//:checkpoint"}.
      srcs: the family's code; [NAME.py] by default.
      options: further options of `mconnect build`, for every bundle.
      visibility: of the library and the bundles.
    """
    srcs = srcs or [name + ".py"]
    py_library(
        name = name,
        srcs = srcs,
        data = ["family.json"],
        visibility = visibility,
        deps = [Label("//tools/builder")],
    )
    tiny_checkpoint(
        name = "tiny_checkpoint",
        config = tiny,
        family = "family.json",
        visibility = visibility,
    )
    bundles = {"bundle_" + key: checkpoint for key, checkpoint in checkpoints.items()}
    bundles["bundle"] = ":tiny_checkpoint"
    for bundle, checkpoint in bundles.items():
        model_bundle(
            name = bundle,
            bundle_name = name + ("-tiny" if bundle == "bundle" else bundle[len("bundle"):].replace("_", "-")),
            checkpoint = checkpoint,
            family = "family.json",
            options = options,
            sources = srcs,
            visibility = visibility,
        )
    _shared_test("parity_test", "parity", ["--family", "$(rootpath family.json)", "--checkpoint", "$(rootpath :tiny_checkpoint)"], [":" + name, ":tiny_checkpoint"])
    _shared_test("runtime_test", "runtime", ["--checkpoint", "$(rootpath :tiny_checkpoint)", "--bundle", "$(rootpath :bundle)"], [":bundle", ":tiny_checkpoint"])
    _shared_test("plan_test", "family_plans", ["--family", "$(rootpath family.json)", "--checkpoint", "$(rootpath :tiny_checkpoint)"], [":" + name, ":tiny_checkpoint"], "//tools/builder/lowering/tensorrt")

def _shared_test(name, main, args, data, package = "//tools/builder/testing"):
    """A test whose main program is MAIN.py of `package`."""
    py_test(
        name = name,
        size = "medium",
        srcs = [Label("%s:%s.py" % (package, main))],
        args = args,
        data = ["family.json"] + data,
        main = Label("%s:%s.py" % (package, main)),
        deps = [Label("%s:%s" % (package, main))],
    )
