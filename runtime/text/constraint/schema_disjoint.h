// Whether two JSON schemas exclude each other.
#ifndef MCONNECT_TEXT_CONSTRAINT_SCHEMA_DISJOINT_H_
#define MCONNECT_TEXT_CONSTRAINT_SCHEMA_DISJOINT_H_

#include <string>

#include "runtime/text/constraint/schema_keywords.h"

namespace mconnect {

// True only where no value can be valid under both: their types differ, or their constants, or those of a property that
// both require. References are resolved before. `place` names the schema in errors.
bool Disjoint(const Schema& a, const Schema& b, const std::string& place);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_SCHEMA_DISJOINT_H_
