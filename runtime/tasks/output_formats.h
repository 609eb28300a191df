// The output formats that requests ask for, compiled once.
#ifndef MCONNECT_TASKS_OUTPUT_FORMATS_H_
#define MCONNECT_TASKS_OUTPUT_FORMATS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "mconnect/text_generation.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/text/constraint/token_constraint.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// Safe to use from many threads.
class OutputFormats {
 public:
  static constexpr std::size_t kKept = 16;

  // `tokenizer_json` gives the text that `tokenizer` was made from.
  OutputFormats(std::shared_ptr<const Tokenizer> tokenizer, AssetReader tokenizer_json, std::int64_t vocabulary);

  // Null for OutputFormat::Kind::kAny. Throws Error(kInvalidArgument or kUnsupported) for a format that cannot be kept,
  // naming what is wrong with it.
  std::shared_ptr<const TokenConstraint> Get(const OutputFormat& format) const;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  AssetReader tokenizer_json_;
  std::int64_t vocabulary_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const VocabularyTrie> tokens_;                                    // made at the first use
  mutable std::list<std::pair<std::string, std::shared_ptr<const TokenConstraint>>> kept_;  // the last used first
};

}  // namespace mconnect

#endif  // MCONNECT_TASKS_OUTPUT_FORMATS_H_
