// JSON schemas as grammars.
#ifndef MCONNECT_TEXT_CONSTRAINT_JSON_SCHEMA_H_
#define MCONNECT_TEXT_CONSTRAINT_JSON_SCHEMA_H_

#include <string_view>

#include "runtime/text/constraint/grammar.h"

namespace mconnect {

// The grammar of JSON texts that are valid under a schema (draft 2020-12 and 7). Where a schema leaves a choice of
// writing, the grammar takes one: at most one space behind ':' and ',', the members of an object in the order of
// `properties`, no members that the schema does not mention unless `additionalProperties` asks for them, numbers of at
// most 18 digits. What it admits is always valid; docs/text-generation.md lists the keywords.
//
// Throws Error(kInvalidArgument) for what is no schema or admits nothing, and Error(kUnsupported) for a keyword that it
// does not know how to keep, naming keyword and place. Keywords that only describe (title, description, ...) are
// skipped.
Grammar JsonSchemaGrammar(std::string_view schema);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_JSON_SCHEMA_H_
