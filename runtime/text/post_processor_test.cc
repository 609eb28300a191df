#include "runtime/text/post_processor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;

EncodingPart Text(std::vector<TokenId> ids, std::vector<std::string_view> tokens, std::vector<Span> offsets,
                  std::int32_t type_id) {
  EncodingPart part;
  part.has_offsets = true;
  part.tokens = std::move(tokens);
  part.encoding.type_ids.assign(ids.size(), type_id);
  part.encoding.attention_mask.assign(ids.size(), 1);
  part.encoding.special_tokens_mask.assign(ids.size(), 0);
  part.encoding.ids = std::move(ids);
  part.encoding.byte_offsets = part.encoding.char_offsets = std::move(offsets);
  return part;
}

Encoding Process(std::string_view processor, std::vector<EncodingPart> parts, bool add_special_tokens = true) {
  const Json json = ParseJson(processor, "post_processor");
  PostProcessor::FromJson(JsonView(json, "post_processor"))->Process(add_special_tokens, &parts);
  for (std::size_t i = 1; i < parts.size(); ++i) parts[0].Append(parts[i]);
  return parts[0].encoding;
}

const EncodingPart kHello = Text({12, 14}, {"Hello", "there"}, {{0, 5}, {6, 11}}, 0);
const EncodingPart kPair = Text({15}, {"pair"}, {{0, 4}}, 1);
constexpr std::string_view kBert = R"({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]})";
constexpr std::string_view kRoberta = R"({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
  "trim_offsets": true, "add_prefix_space": true})";

TEST(PostProcessorTest, Bert) {
  const Encoding encoding = Process(kBert, {kHello, kPair});
  EXPECT_EQ(encoding.ids, (std::vector<TokenId>{101, 12, 14, 102, 15, 102}));
  EXPECT_EQ(encoding.type_ids, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(encoding.special_tokens_mask, (std::vector<std::int32_t>{1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(Process(kBert, {kHello}, /*add_special_tokens=*/false).ids, (std::vector<TokenId>{12, 14}));
}

TEST(PostProcessorTest, Roberta) {
  const Encoding encoding = Process(kRoberta, {kHello, kPair});
  EXPECT_EQ(encoding.ids, (std::vector<TokenId>{0, 12, 14, 2, 2, 15, 2}));
  EXPECT_EQ(encoding.type_ids, std::vector<std::int32_t>(7, 0));
}

TEST(PostProcessorTest, ByteLevelTrimsSpacesOutOfOffsets) {
  const auto text = Text({0, 0, 0, 0, 0}, {"Ġ", "ĠĠĠĠHelloĠĠ", "ĠĠHello", "HelloĠĠ", "ĠĠĠĠ"},
                         {{0, 1}, {0, 11}, {11, 18}, {18, 25}, {25, 29}}, 0);
  const Encoding encoding = Process(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})", {text});
  EXPECT_EQ(encoding.byte_offsets, (std::vector<Span>{{0, 0}, {4, 9}, {13, 18}, {18, 23}, {29, 29}}));
}

TEST(PostProcessorTest, RefusesWhatCannotBeDone) {
  EXPECT_EQ(ErrorOf([] { Process(R"({"type": "X"})", {kHello}); }),
            "unsupported: post_processor: the post-processor 'X' is not supported");
  EXPECT_EQ(ErrorOf([] {
              Process(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", "type_id": 0}}], "pair": [],
                "special_tokens": {}})",
                      {kHello});
            }),
            "corrupt: post_processor: single[0].Sequence.id: no text 'B' here");
  EXPECT_EQ(ErrorOf([] {
              Process(
                  R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}], "pair": [],
                "special_tokens": {}})",
                  {kHello});
            }),
            "corrupt: post_processor: single[0].SpecialToken.id: 'x' is not among the special_tokens");
}

}  // namespace
}  // namespace mconnect
