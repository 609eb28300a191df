#include "runtime/text/decoder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using Strings = std::vector<std::string>;

// What is given out token by token; the last entry is the rest.
Strings Stream(std::string_view decoder_json, const Strings& tokens) {
  const Json json = ParseJson(decoder_json, "decoder");
  const Decoder decoder = Decoder::FromJson(JsonView(json, "decoder"));
  DecoderChain chain(decoder);
  Strings out;
  for (const std::string& token : tokens) chain.Put(token, &out.emplace_back());
  chain.Finish(&out.emplace_back());
  return out;
}

std::string Decode(std::string_view decoder_json, const Strings& tokens) {
  std::string text;
  for (const std::string& piece : Stream(decoder_json, tokens)) text += piece;
  return text;
}

constexpr std::string_view kLlama = R"({"type": "Sequence", "decoders": [
  {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

TEST(DecoderTest, WordPieceJoinsAndCleansUp) {
  EXPECT_EQ(
      Decode(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})", {"it", "'", "s", "do", "##n", "'", "t", "."}),
      "it ' s don ' t.");
}

TEST(DecoderTest, ByteLevelHoldsBackIncompleteCharacters) {
  EXPECT_EQ(Stream(R"({"type": "ByteLevel"})", {"aĠ", "æĹ", "¥", "æ", "b", "Ã"}),
            (Strings{"a ", "", "日", "", "\uFFFDb", "", "\uFFFD"}));
}

TEST(DecoderTest, ByteFallbackTakesARunInFullOrNotAtAll) {
  EXPECT_EQ(Stream(kLlama, {"▁a", "<0xE6>", "<0x97>", "<0xA5>", "▁b"}), (Strings{"a", "", "", "", "日 b", ""}));
  EXPECT_EQ(Decode(kLlama, {"▁a", "<0xE6>", "<0x97>", "<0xA5>", "<0xE6>", "b"}), "a\uFFFD\uFFFD\uFFFD\uFFFDb");
}

TEST(DecoderTest, StripWorksOnTheWholeTextThoughItComesInPieces) {
  constexpr std::string_view kBoth = R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 2, "stop": 1}]})";
  EXPECT_EQ(Stream(kBoth, {" ", " ", " a", " ", "b ", " "}), (Strings{"", "", " a", "", " b", " ", ""}));
}

TEST(DecoderTest, OtherKinds) {
  EXPECT_EQ(Decode(R"({"type": "BPEDecoder", "suffix": "</w>"})", {"a</w>", "b", "c</w>"}), "a bc");
  EXPECT_EQ(Decode(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})", {"▁a", "▁b"}), "a b");
  EXPECT_EQ(Decode(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
    {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "x"}]})",
                   {"ab", "bc"}),
            "axc");
}

TEST(DecoderTest, CtcKeepsOneOfEqualNeighboursAndDropsPadding) {
  constexpr std::string_view kCtc =
      R"({"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": true})";
  EXPECT_EQ(Decode(kCtc, {"<pad>", "h", "h", "e", "l", "<pad>", "l", "o", "|", "|", "y"}), "hello y");
  EXPECT_EQ(Stream(kCtc, {"a", "a", "<pad>", "a"}), (Strings{"a", "", "", "a", ""}));
  EXPECT_EQ(
      Decode(R"({"type": "CTC", "pad_token": "_", "word_delimiter_token": "|", "cleanup": false})", {"a", "_", "|"}),
      "a|");
}

TEST(DecoderTest, NamesAnUnknownType) {
  EXPECT_EQ(ErrorOf([] { Decode(R"({"type": "Morse"})", {}); }),
            "unsupported: decoder: the decoder 'Morse' is not supported");
}

}  // namespace
}  // namespace mconnect
