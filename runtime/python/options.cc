#include "runtime/python/options.h"

#include <pybind11/stl.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "mconnect/error.h"
#include "runtime/python/text.h"

namespace mconnect::python {
namespace py = pybind11;

namespace {

[[noreturn]] void WrongType(const std::string& name, py::handle value, const char* expected) {
  throw py::type_error(name + " must be " + expected + ", not " +
                       std::string(py::str(py::type::handle_of(value).attr("__name__"))));
}

// An int of Python, or what says that it is one (numpy's).
template <typename T>
T Integer(const std::string& name, py::handle value) {
  const py::object index = py::isinstance<py::bool_>(value) || !PyIndex_Check(value.ptr())
                               ? py::object()
                               : py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) WrongType(name, value, "an int");
  const py::int_ least(std::numeric_limits<T>::min()), most(std::numeric_limits<T>::max());
  if (index < least || index > most) {
    throw Error(ErrorCode::kInvalidArgument, name + " is " + std::string(py::str(index)) + ", the limits are " +
                                                 std::string(py::str(least)) + " and " + std::string(py::str(most)));
  }
  return index.cast<T>();
}

double Float(const std::string& name, py::handle value) {
  if (py::isinstance<py::bool_>(value)) WrongType(name, value, "a number");
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    WrongType(name, value, "a number");
  }
  return number;
}

bool Bool(const std::string& name, py::handle value) {
  if (!py::isinstance<py::bool_>(value)) WrongType(name, value, "a bool");
  return value.cast<bool>();
}

void SetBias(GenerateOptions& options, py::handle value) {
  if (!py::isinstance<py::dict>(value)) WrongType("logit_bias", value, "a dict of token ids and numbers");
  for (const auto& [id, bias] : py::reinterpret_borrow<py::dict>(value)) {
    const auto key = Integer<std::int32_t>("a token id of logit_bias", id);
    options.logit_bias[key] = static_cast<float>(Float("logit_bias[" + std::to_string(key) + "]", bias));
  }
}

void SetEarlyStopping(GenerateOptions& options, py::handle value) {
  if (py::isinstance<py::str>(value) && Utf8(value, "early_stopping") == "never") {
    options.early_stopping = EarlyStopping::kNever;
  } else {
    if (!py::isinstance<py::bool_>(value)) WrongType("early_stopping", value, "True, False or \"never\"");
    options.early_stopping = value.cast<bool>() ? EarlyStopping::kYes : EarlyStopping::kHeuristic;
  }
}

void SetFormat(GenerateOptions& options, OutputFormat format) {
  if (options.format.kind != OutputFormat::Kind::kAny) {
    throw Error(ErrorCode::kInvalidArgument, "json_schema, regex and choice exclude each other");
  }
  options.format = std::move(format);
}

using Set = std::function<void(GenerateOptions&, const std::string&, py::handle)>;

const std::map<std::string, Set>& Setters() {
  using O = GenerateOptions;
  using Kind = OutputFormat::Kind;
  const auto integer = [](auto member) {
    return Set([member](O& o, const std::string& name, py::handle v) { o.*member = Integer<int>(name, v); });
  };
  const auto number = [](auto member) {
    return Set(
        [member](O& o, const std::string& name, py::handle v) { o.*member = static_cast<float>(Float(name, v)); });
  };
  const auto flag = [](auto member) {
    return Set([member](O& o, const std::string& name, py::handle v) { o.*member = Bool(name, v); });
  };
  static const std::map<std::string, Set> setters = {
      {"max_new_tokens", integer(&O::max_new_tokens)},
      {"min_new_tokens", integer(&O::min_new_tokens)},
      {"stop", [](O& o, const std::string& name, py::handle v) { o.stop = Utf8List(v, name); }},
      {"greedy", flag(&O::greedy)},
      {"temperature", number(&O::temperature)},
      {"top_k", integer(&O::top_k)},
      {"top_p", number(&O::top_p)},
      {"min_p", number(&O::min_p)},
      {"repetition_penalty", number(&O::repetition_penalty)},
      {"presence_penalty", number(&O::presence_penalty)},
      {"frequency_penalty", number(&O::frequency_penalty)},
      {"logit_bias", [](O& o, const std::string&, py::handle v) { SetBias(o, v); }},
      {"seed", [](O& o, const std::string& name, py::handle v) { o.seed = Integer<std::uint64_t>(name, v); }},
      {"n", integer(&O::n)},
      {"num_beams", integer(&O::num_beams)},
      {"length_penalty", number(&O::length_penalty)},
      {"early_stopping", [](O& o, const std::string&, py::handle v) { SetEarlyStopping(o, v); }},
      {"logprobs", flag(&O::logprobs)},
      {"top_logprobs", integer(&O::top_logprobs)},
      {"json_schema",
       [](O& o, const std::string& name, py::handle v) {
         SetFormat(o, {Kind::kJsonSchema, py::isinstance<py::str>(v) ? Utf8(v, name) : ToJson(v), {}});
       }},
      {"regex",
       [](O& o, const std::string& name, py::handle v) {
         SetFormat(o, {Kind::kRegex, Utf8(v, name), {}});
       }},
      {"choice",
       [](O& o, const std::string& name, py::handle v) {
         SetFormat(o, {Kind::kChoice, "", Utf8List(v, name)});
       }},
      {"timeout", [](O& o, const std::string& name, py::handle v) { o.timeout_seconds = Float(name, v); }},
      {"ignore_eos", flag(&O::ignore_eos)},
  };
  return setters;
}

}  // namespace

std::string ToJson(py::handle object) {
  return Utf8(py::module_::import("json").attr("dumps")(object, py::arg("ensure_ascii") = false), "JSON");
}

GenerateOptions ToGenerateOptions(const py::dict& arguments) {
  GenerateOptions options;
  for (const auto& [key, value] : arguments) {
    const std::string name = py::str(key);
    const auto setter = Setters().find(name);
    if (setter == Setters().end()) throw py::type_error("there is no option '" + name + "'");
    if (!value.is_none()) setter->second(options, name, value);
  }
  return options;
}

ChatOptions TakeChatOptions(py::dict& arguments) {
  ChatOptions chat;
  const auto take = [&](const char* name, const auto& set) {
    if (!arguments.contains(name)) return;
    const py::object value = arguments.attr("pop")(name);
    if (!value.is_none()) set(value);
  };
  take("tools", [&](py::handle v) { chat.tools = ToJson(v); });
  take("variables", [&](py::handle v) { chat.variables = ToJson(v); });
  take("template_name", [&](py::handle v) { chat.template_name = Utf8(v, "template_name"); });
  take("continue_final_message",
       [&](py::handle v) { chat.continue_final_message = Bool("continue_final_message", v); });
  take("add_generation_prompt", [&](py::handle v) { chat.add_generation_prompt = Bool("add_generation_prompt", v); });
  take("allow_special_tokens_in_content",
       [&](py::handle v) { chat.allow_special_tokens_in_content = Bool("allow_special_tokens_in_content", v); });
  return chat;
}

}  // namespace mconnect::python
