// Keyword arguments as the options of a request.
#ifndef MCONNECT_RUNTIME_PYTHON_OPTIONS_H_
#define MCONNECT_RUNTIME_PYTHON_OPTIONS_H_

#include <pybind11/pybind11.h>

#include "mconnect/text_generation.h"

namespace mconnect::python {

// Raises TypeError for a name that is not known and for a value of the wrong type, as Python does, and throws
// Error(kInvalidArgument) for a number that the option cannot hold.
GenerateOptions ToGenerateOptions(const pybind11::dict& arguments);

// Takes tools, variables, template_name, continue_final_message and allow_special_tokens_in_content out of `arguments`.
ChatOptions TakeChatOptions(pybind11::dict& arguments);

// json.dumps(object).
std::string ToJson(pybind11::handle object);

}  // namespace mconnect::python

#endif  // MCONNECT_RUNTIME_PYTHON_OPTIONS_H_
