// Model parts over the toy engine and a tokenizer whose ids a person can work out.
#ifndef MCONNECT_TASKS_TESTING_TOY_PARTS_H_
#define MCONNECT_TASKS_TESTING_TOY_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tasks/model_parts.h"

namespace mconnect {

// The byte-level tokenizer of the toy models has 258 tokens: 0-255 are bytes in the order of the byte-level alphabet
// ('!' is 0, 'A' is 32, a space 220), 256 is "<s>" and 257 "</s>", both special. `encoder` wraps a text in <s> and
// </s>.
class ToyParts : public ModelParts {
 public:
  // With the module "encoder", 4 wide, and the asset "text-embedding".
  static ToyParts Encoder(const std::string& pooling = "mean", bool normalize = false);

  // With the module "decoder" and the asset "text-generation": a context of `max_tokens`, end of text 257.
  static ToyParts Decoder(std::int64_t max_tokens = 2048, const std::string& bos = "null");

  // Decoder() whose graph says that it has a window, or other rotary factors for texts of more than `short_context`
  // tokens. The toy engine knows nothing of either.
  static ToyParts Windowed();
  static ToyParts LongRope(std::int64_t short_context);

  // Decoder() with the asset "chat_template": "<s>role: content</s>" for each message, "<s>assistant: " for the answer,
  // then the number of tools and the variable `mood`.
  static ToyParts Chat();

  LoadedModule module(std::string_view name) const override { return modules_.at(std::string(name)); }
  std::string graph(std::string_view) const override { return graph_; }
  std::string asset(std::string_view name) const override { return assets_.at(std::string(name)); }
  bool has_asset(std::string_view name) const override { return assets_.contains(std::string(name)); }
  AssetReader asset_reader(std::string name) const override {
    return [text = asset(name)] { return text; };
  }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }

 private:
  std::map<std::string, LoadedModule> modules_;
  std::map<std::string, std::string> assets_;
  std::string graph_ = R"({"nodes": [], "weights": []})";
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// The ids with which the toy decoder continues `prompt`, up to `count` or the end of text (included).
std::vector<std::int32_t> ToyContinuation(std::vector<std::int32_t> prompt, int count);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_TESTING_TOY_PARTS_H_
