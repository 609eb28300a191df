#include "runtime/text/post_processor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;

struct Text {
  std::vector<TokenId> ids;
  std::vector<std::string_view> tokens;
  std::vector<Span> offsets;
};

Encoding Process(std::string_view processor, const std::vector<Text>& texts, bool add_special_tokens = true) {
  std::vector<std::vector<EncodedToken>> tokens;
  for (const Text& text : texts) {
    auto& of_text = tokens.emplace_back();
    for (std::size_t i = 0; i < text.ids.size(); ++i) {
      of_text.push_back({text.ids[i], text.offsets[i], text.offsets[i]});
    }
  }
  EncodingDraft draft{.segments = {}, .parts = texts.size(), .offsets = true};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    draft.segments.push_back({.part = i,
                              .type_id = static_cast<std::int32_t>(i),
                              .tokens = tokens[i],
                              .texts = texts[i].tokens,
                              .special = {}});
  }
  const Json json = ParseJson(processor, "post_processor");
  const auto post_processor = PostProcessor::FromJson(JsonView(json, "post_processor"));
  post_processor->Process(add_special_tokens, &draft);
  return Finish(draft);
}

const Text kHello = {{12, 14}, {"Hello", "there"}, {{0, 5}, {6, 11}}};
const Text kPair = {{15}, {"pair"}, {{0, 4}}};
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
  const Text text = {{0, 0, 0, 0, 0},
                     {"Ġ", "ĠĠĠĠHelloĠĠ", "ĠĠHello", "HelloĠĠ", "ĠĠĠĠ"},
                     {{0, 1}, {0, 11}, {11, 18}, {18, 25}, {25, 29}}};
  const Encoding encoding = Process(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})", {text});
  EXPECT_EQ(encoding.byte_offsets, (std::vector<Span>{{0, 0}, {4, 9}, {13, 18}, {18, 23}, {29, 29}}));
}

TEST(PostProcessorTest, TrimsATextThatATemplateHasTwiceOnce) {
  constexpr std::string_view kTwice = R"({"type": "Sequence", "processors": [
    {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
     "pair": [], "special_tokens": {}},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}]})";
  const Encoding encoding = Process(kTwice, {{{7}, {"Ġa"}, {{3, 9}}}});
  EXPECT_EQ(encoding.byte_offsets, (std::vector<Span>{{4, 9}, {4, 9}}));
  EXPECT_EQ(encoding.type_ids, (std::vector<std::int32_t>{0, 1}));
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
