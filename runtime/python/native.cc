// The extension module `mconnect._native`: the C++ interface as Python sees it. Signatures and their documentation
// stand in mconnect/_native.pyi; a test keeps the two in step.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mconnect/mconnect.h"
#include "runtime/bundle/bundle.h"
#include "runtime/python/arrays.h"
#include "runtime/python/background.h"
#include "runtime/python/options.h"
#include "runtime/python/text.h"
#include "runtime/text/tokenizer.h"

namespace mconnect::python {
namespace {

namespace py = pybind11;
using namespace py::literals;  // NOLINT: "name"_a has no other spelling

// Raises mconnect.Error, which is a Python class so that it can be subclassed, pickled and read.
void RaiseError(const Error& error) {
  const py::object type = py::module_::import("mconnect._error").attr("Error");
  const py::object raised = type(std::string(ErrorCodeName(error.code())), error.message(), error.remedy());
  PyErr_SetObject(type.ptr(), raised.ptr());
}

Model Load(const py::object& bundle, const std::string& device, const std::string& precision, int threads,
           const py::object& store) {
  LoadOptions options;
  options.device = device;
  options.precision = precision;
  options.threads = threads;
  if (!store.is_none()) options.store = Path(store, "store");
  const std::filesystem::path path = Path(bundle, "bundle");
  return RunInterruptibly([&](const std::stop_token&) { return Model::load(path, options); });
}

// The manifest and the bundle's id, as json.loads makes it.
py::object Inspect(const py::object& path) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(Path(path, "bundle"));
  py::object manifest = py::module_::import("json").attr("loads")(py::bytes(bundle->Read("manifest.json")));
  manifest["id"] = bundle->id();
  return manifest;
}

Embeddings Embed(const TextEmbedding& task, const py::object& texts, int batch_size, std::optional<bool> normalize,
                 std::optional<int> max_tokens) {
  EmbedOptions options;
  options.batch_size = batch_size;
  options.normalize = normalize;
  options.max_tokens = max_tokens;
  return RunInterruptibly([&, list = Utf8List(texts, "texts")](const std::stop_token& stop) {
    options.cancel = stop;
    return task.embed(list, options);
  });
}

// A str, or token ids.
Prompt ToPrompt(const py::object& prompt) {
  if (py::isinstance<py::str>(prompt)) return Prompt(Utf8(prompt, "prompt"));
  if (!py::isinstance<py::iterable>(prompt) || py::isinstance<py::bytes>(prompt)) return Prompt(Utf8(prompt, "prompt"));
  return Prompt(TokenIds(prompt, "prompt"));
}

std::unique_ptr<TextStream> Stream(const TextGeneration& task, Prompt prompt, GenerateOptions options) {
  return std::make_unique<TextStream>(
      [task, prompt = std::move(prompt)](const GenerateOptions& given, const TextCallback& callback) {
        return task.generate(prompt, given, callback);
      },
      std::move(options));
}

// A session that several threads of Python may hold: their calls wait for each other.
struct SharedSession {
  explicit SharedSession(TextGeneration task) : model(std::move(task)), session(model.session()) {}

  TextGeneration model;
  std::mutex mutex;
  TextSession session;
};

std::unique_ptr<TextStream> Stream(const std::shared_ptr<SharedSession>& shared, Prompt prompt,
                                   GenerateOptions options) {
  return std::make_unique<TextStream>(
      [shared, prompt = std::move(prompt)](const GenerateOptions& given, const TextCallback& callback) {
        const std::lock_guard lock(shared->mutex);
        return shared->session.generate(prompt, given, callback);
      },
      std::move(options));
}

std::vector<Generation> GenerateBatch(const TextGeneration& task, const py::object& prompts, const py::kwargs& given) {
  if (py::isinstance<py::str>(prompts) || !py::isinstance<py::iterable>(prompts)) {
    throw py::type_error("prompts must be a list of prompts");
  }
  std::vector<Prompt> list;
  for (const py::handle prompt : prompts) list.push_back(ToPrompt(py::reinterpret_borrow<py::object>(prompt)));
  GenerateOptions options = ToGenerateOptions(given);
  return RunInterruptibly([&](const std::stop_token& stop) {
    options.cancel = stop;
    return task.generate_batch(list, options);
  });
}

// Messages are a list of dicts.
std::vector<std::int32_t> EncodeChat(const TextGeneration& task, const py::object& messages, const py::kwargs& given) {
  py::dict options(given);
  const ChatOptions chat = TakeChatOptions(options);
  if (!options.empty()) {
    throw py::type_error("there is no option '" + std::string(py::str(options.begin()->first)) + "'");
  }
  return task.encode_chat(ToJson(messages), chat);
}

// `on_text` runs on the calling thread; what it raises ends the generation.
Generation Generate(TextStream& stream, const py::object& on_text) {
  while (const std::optional<std::string> piece = stream.Next()) {
    if (!on_text.is_none()) on_text(py::str(*piece));
  }
  return stream.Result();
}

// What tasks and sessions have in common: stream(), generate() and chat(). `Self` is what Stream() takes, `model` gives
// its TextGeneration.
template <typename Class, typename Self, typename Model>
void BindPrompts(Class& bound, Model model) {
  bound
      .def(
          "stream",
          [](Self self, const py::object& prompt, const py::kwargs& options) {
            return Stream(self, ToPrompt(prompt), ToGenerateOptions(options));
          },
          "prompt"_a)
      .def(
          "generate",
          [](Self self, const py::object& prompt, const py::object& on_text, const py::kwargs& options) {
            const auto stream = Stream(self, ToPrompt(prompt), ToGenerateOptions(options));
            return Generate(*stream, on_text);
          },
          "prompt"_a, py::kw_only(), "on_text"_a = py::none())
      .def(
          "chat",
          [model](Self self, const py::object& messages, const py::object& on_text, const py::kwargs& given) {
            py::dict options(given);
            const ChatOptions chat = TakeChatOptions(options);
            GenerateOptions generate = ToGenerateOptions(options);
            const Prompt prompt(model(self).encode_chat(ToJson(messages), chat));
            const auto stream = Stream(self, prompt, std::move(generate));
            return Generate(*stream, on_text);
          },
          "messages"_a, py::kw_only(), "on_text"_a = py::none());
}

std::vector<TokenId> Encode(const Tokenizer& tokenizer, const py::object& text, bool add_special_tokens) {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  options.max_tokens = 0;
  options.padding = Padding();
  options.offsets = false;
  const std::string utf8 = Utf8(text, "text");
  const py::gil_scoped_release release;
  return tokenizer.Encode(utf8, options).ids;
}

void BindModules(py::module_& m) {
  py::class_<TensorInfo>(m, "TensorInfo")
      .def_readonly("name", &TensorInfo::name)
      .def_property_readonly("dtype", [](const TensorInfo& t) { return std::string(DTypeName(t.dtype)); })
      .def_readonly("shape", &TensorInfo::shape)
      .def("__repr__", [](const TensorInfo& t) {
        std::string shape;
        for (const std::string& d : t.shape) shape += (shape.empty() ? "" : ",") + d;
        return t.name + " " + std::string(DTypeName(t.dtype)) + " [" + shape + "]";
      });
  py::class_<Session>(m, "Session")
      .def(
          "run",
          [](Session& session, const py::dict& inputs) {
            const NamedTensors tensors = ToTensors(inputs);
            NamedTensors outputs;
            {
              const py::gil_scoped_release release;
              outputs = session.run(tensors);
            }
            return ToArrays(outputs);
          },
          "inputs"_a)
      .def("reset", &Session::reset, py::call_guard<py::gil_scoped_release>());
  py::class_<LoadedModule>(m, "Module")
      .def_property_readonly("name", [](const LoadedModule& module) { return module.info().name; })
      .def_property_readonly("inputs", [](const LoadedModule& module) { return module.info().inputs; })
      .def_property_readonly("outputs", [](const LoadedModule& module) { return module.info().outputs; })
      .def_property_readonly("stateful", [](const LoadedModule& module) { return module.info().stateful; })
      .def_property_readonly("engine", [](const LoadedModule& module) { return module.info().engine; })
      .def(
          "run",
          [](const LoadedModule& module, const py::dict& inputs) {
            const NamedTensors tensors = ToTensors(inputs);
            NamedTensors outputs;
            {
              const py::gil_scoped_release release;
              outputs = module.run(tensors);
            }
            return ToArrays(outputs);
          },
          "inputs"_a)
      .def("session", &LoadedModule::session);
}

void BindEmbedding(py::module_& m) {
  py::class_<Embeddings>(m, "Embeddings")
      .def_property_readonly("vectors", [](const Embeddings& e) { return ToArray(e.vectors); })
      .def_readonly("tokens", &Embeddings::tokens)
      .def_readonly("truncated", &Embeddings::truncated);
  py::class_<TextEmbedding>(m, "TextEmbedding")
      .def_property_readonly("dimension", &TextEmbedding::dimension)
      .def_property_readonly("max_tokens", &TextEmbedding::max_tokens)
      .def(
          "embed",
          [](const TextEmbedding& task, const py::object& texts, int batch_size, std::optional<bool> normalize,
             std::optional<int> max_tokens) {
            return ToArray(Embed(task, texts, batch_size, normalize, max_tokens).vectors);
          },
          "texts"_a, py::kw_only(), "batch_size"_a = 32, "normalize"_a = py::none(), "max_tokens"_a = py::none())
      .def("embed_detailed", &Embed, "texts"_a, py::kw_only(), "batch_size"_a = 32, "normalize"_a = py::none(),
           "max_tokens"_a = py::none());
}

void BindGeneration(py::module_& m) {
  py::class_<TokenLogprob>(m, "TokenLogprob")
      .def_readonly("id", &TokenLogprob::id)
      .def_readonly("logprob", &TokenLogprob::logprob)
      .def_readonly("top", &TokenLogprob::top);
  py::class_<Score>(m, "Score")
      .def_readonly("ids", &Score::ids)
      .def_readonly("logprobs", &Score::logprobs)
      .def_readonly("log_likelihood", &Score::log_likelihood)
      .def_property_readonly("perplexity", &Score::perplexity);
  py::class_<Generation>(m, "Generation")
      .def_readonly("text", &Generation::text)
      .def_readonly("ids", &Generation::ids)
      .def_property_readonly("finish_reason",
                             [](const Generation& g) { return std::string(FinishReasonName(g.finish_reason)); })
      .def_readonly("logprobs", &Generation::logprobs)
      .def_readonly("score", &Generation::score)
      .def_readonly("prompt_tokens", &Generation::prompt_tokens)
      .def_readonly("cached_tokens", &Generation::cached_tokens)
      .def_readonly("completion_tokens", &Generation::completion_tokens)
      .def_readonly("prefill_seconds", &Generation::prefill_seconds)
      .def_readonly("decode_seconds", &Generation::decode_seconds)
      .def("__repr__", [](const Generation& g) {
        return "Generation(text=" + std::string(py::repr(py::str(g.text))) + ", finish_reason='" +
               std::string(FinishReasonName(g.finish_reason)) + "')";
      });
  py::class_<TextStream>(m, "TextStream")
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__",
           [](TextStream& stream) {
             std::optional<std::string> piece = stream.Next();
             if (!piece) throw py::stop_iteration();
             return *std::move(piece);
           })
      .def("cancel", &TextStream::Cancel)
      .def("result", &TextStream::Result);
  py::class_<SharedSession, std::shared_ptr<SharedSession>> session(m, "TextSession");
  BindPrompts<decltype(session), const std::shared_ptr<SharedSession>&>(
      session, [](const std::shared_ptr<SharedSession>& s) -> const TextGeneration& { return s->model; });
  session.def("reset", [](SharedSession& shared) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(shared.mutex);
    shared.session.reset();
  });
  py::class_<TextGeneration> task(m, "TextGeneration");
  BindPrompts<decltype(task), const TextGeneration&>(
      task, [](const TextGeneration& t) -> const TextGeneration& { return t; });
  task.def_property_readonly("max_tokens", &TextGeneration::max_tokens)
      .def_property_readonly("has_chat_template", &TextGeneration::has_chat_template)
      .def("session", [](const TextGeneration& self) { return std::make_shared<SharedSession>(self); })
      .def("generate_batch", &GenerateBatch, "prompts"_a)
      .def("encode_chat", &EncodeChat, "messages"_a)
      .def(
          "score",
          [](const TextGeneration& task, const py::object& text) {
            ScoreOptions options;
            return RunInterruptibly([&, prompt = ToPrompt(text)](const std::stop_token& stop) {
              options.cancel = stop;
              return task.score(prompt, options);
            });
          },
          "text"_a);
}

void BindTokenizer(py::module_& m) {
  py::class_<Tokenizer, std::shared_ptr<Tokenizer>>(m, "Tokenizer")
      .def_static(
          "from_json",
          [](const py::object& text) {
            return std::make_shared<Tokenizer>(Tokenizer::FromJson(Utf8(text, "tokenizer_json")));
          },
          "tokenizer_json"_a)
      .def("encode", &Encode, "text"_a, py::kw_only(), "add_special_tokens"_a = true)
      .def(
          "decode",
          [](const Tokenizer& tokenizer, const py::object& ids, bool skip_special_tokens) {
            return tokenizer.Decode(TokenIds(ids, "ids", tokenizer.vocab_size()), skip_special_tokens);
          },
          "ids"_a, py::kw_only(), "skip_special_tokens"_a = true)
      .def(
          "token_to_id",
          [](const Tokenizer& tokenizer, const py::object& token) { return tokenizer.TokenToId(Utf8(token, "token")); },
          "token"_a)
      .def("id_to_token", &Tokenizer::IdToToken, "id"_a)
      .def_property_readonly("vocab_size", &Tokenizer::vocab_size);
}

void BindModel(py::module_& m) {
  py::class_<Model>(m, "Model")
      .def_static("load", &Load, "bundle"_a, py::kw_only(), "device"_a = "auto", "precision"_a = "f32", "threads"_a = 0,
                  "store"_a = py::none())
      .def_property_readonly("id", [](const Model& model) { return model.info().id; })
      .def_property_readonly("name", [](const Model& model) { return model.info().name; })
      .def_property_readonly("family", [](const Model& model) { return model.info().family; })
      .def_property_readonly("tasks", [](const Model& model) { return model.info().tasks; })
      .def_property_readonly("modules",
                             [](const Model& model) {
                               std::vector<std::string> names;
                               for (const ModuleInfo& module : model.info().modules) names.push_back(module.name);
                               return names;
                             })
      .def_property_readonly("device", [](const Model& model) { return model.info().device; })
      .def_property_readonly("precision", [](const Model& model) { return model.info().precision; })
      .def("module", &Model::module, "name"_a)
      .def(
          "asset", [](const Model& model, const std::string& name) { return py::bytes(model.asset(name)); }, "name"_a)
      .def(
          "tokenizer",
          [](const Model& model) { return std::make_shared<Tokenizer>(Tokenizer::FromJson(model.asset("tokenizer"))); })
      .def("text_embedding", &Model::task<TextEmbedding>)
      .def("text_generation", &Model::task<TextGeneration>)
      .def("__repr__", [](const Model& model) {
        return "<mconnect.Model " + model.info().name + " on " + model.info().device + ">";
      });
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Native part of mconnect.";
  py::register_local_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const Error& error) {
      RaiseError(error);
    }
  });
  BindModules(m);
  BindEmbedding(m);
  BindGeneration(m);
  BindTokenizer(m);
  BindModel(m);
  m.def("inspect", &Inspect, "bundle"_a);
}

}  // namespace mconnect::python
