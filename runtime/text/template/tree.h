// The tree of a template, read from JSON and checked: names are slots, and every slot exists. docs/chat-templates.md
// describes the format.
#ifndef MCONNECT_TEXT_TEMPLATE_TREE_H_
#define MCONNECT_TEXT_TEMPLATE_TREE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/template/value.h"

namespace mconnect::jinja {

// A variable: a slot of the function that runs, or of the one `up` levels around it.
struct Place {
  std::size_t slot = 0;
  std::size_t up = 0;
};

// What a variable is when its scope is entered. Left alone: a parameter, which somebody else sets.
struct Load {
  enum class From { kNothing, kContext, kCopy, kParameter };
  std::size_t slot = 0;
  From from = From::kNothing;
  std::string name;  // kContext
  Place place;       // kCopy
};

struct ArgumentList;

struct Expression {
  enum class Op {
    kAnd,        // children: left, right
    kAttribute,  // name; children: value
    kBinary,     // name of the operator; children: left, right
    kCall,       // children: value; arguments
    kCaptured,   // the text that a block wrote
    kCompare,    // comparisons; children: value, then one for each
    kConcat,     // children
    kConst,      // constant
    kDict,       // children: key, value, key, value, ...
    kFilter,     // name; children: value; arguments
    kIf,         // children: test, then, else (or none)
    kItem,       // children: value, key
    kList,       // children
    kName,       // name, place
    kNegative,   // children: value
    kNot,        // children: value
    kOr,         // children: left, right
    kPositive,   // children: value
    kSlice,      // children: value, start, stop, step
    kTest,       // name; children: value; arguments
    kTuple,      // children
  };
  enum class Comparison { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kIn, kNotIn };

  Op op = Op::kConst;
  std::string name;
  Place place;
  Value constant;
  std::vector<Comparison> comparisons;
  std::vector<Expression> children;
  std::shared_ptr<const ArgumentList> arguments;
};

struct ArgumentList {
  std::vector<Expression> positional;
  std::vector<std::pair<std::string, Expression>> named;
  std::optional<Expression> more_positional;
  std::optional<Expression> more_named;
};

// What an assignment writes to: a slot, a namespace's attribute, or the parts of what it is given.
struct Target {
  std::optional<std::size_t> slot;
  std::optional<Place> space;
  std::string attribute;
  std::vector<Target> items;
};

struct Statement;

// The template itself, a macro, or the body of a call block.
struct Macro {
  struct Parameter {
    std::string name;
    std::size_t slot = 0;
    std::optional<Expression> absent;
  };

  std::string name;
  std::vector<Parameter> parameters;
  std::optional<std::size_t> caller;  // slots of the special parameters
  std::optional<std::size_t> kwargs;
  std::optional<std::size_t> varargs;
  std::size_t slots = 0;
  bool defines = false;  // macros that see its variables
  std::vector<Load> loads;
  std::vector<Statement> body;
};

// The condition of a loop, with variables of its own.
struct LoopFilter {
  std::size_t slots = 0;
  std::vector<Load> loads;
  Target target;
  Expression test;
};

struct Statement {
  enum class Do { kBreak, kCall, kContinue, kFilter, kFor, kGeneration, kIf, kMacro, kOutput, kSet, kSetBlock, kWith };
  struct Branch {
    Expression test;
    std::vector<Statement> body;
  };

  Do what = Do::kOutput;
  int line = 0;
  std::vector<Expression> expressions;  // kOutput; kSet and kFor: the value; kCall: the call; filters
  std::vector<Target> targets;          // one for each value of kWith; else one
  std::vector<Branch> branches;         // kIf
  std::vector<Load> loads;
  std::vector<Statement> body;
  std::vector<Load> else_loads;
  std::vector<Statement> otherwise;
  std::optional<std::size_t> loop;           // kFor: slot of the variable `loop`
  std::shared_ptr<const LoopFilter> filter;  // kFor
  std::shared_ptr<const Macro> macro;        // kMacro, kCall, kGeneration
};

// Throws Error(kCorrupt) naming the place, and Error(kUnsupported) for a filter or test that this runtime lacks.
Macro ReadTree(const JsonView& json);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_TREE_H_
