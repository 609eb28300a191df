#include "runtime/text/normalizer.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using testing_text::Normalized;

constexpr std::string_view kBert =
    R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true})";

TEST(NormalizerTest, BertCleansSeparatesStripsAndLowers) {
  EXPECT_EQ(Normalized(kBert, std::string_view("\tÀé 中\0x\u200d", 14)), " ae  中 x");
}

TEST(NormalizerTest, NormalizationForms) {
  EXPECT_EQ(Normalized(R"({"type": "NFKC"})", "ﬁ①ｱﾞ"), "fi1\u30A2\u3099");
  EXPECT_EQ(Normalized(R"({"type": "NFD"})", "각ẛ̣"), "\u1100\u1161\u11A8\u017F\u0323\u0307");
  EXPECT_EQ(Normalized(R"({"type": "NFC"})", "e\u0323\u0302 \u1112\u1161\u11AB"), "\u1EC7 한");
}

TEST(NormalizerTest, SimpleOnes) {
  EXPECT_EQ(Normalized(R"({"type": "Lowercase"})", "İΣ"), "i̇σ");
  EXPECT_EQ(Normalized(R"({"type": "StripAccents"})", "e\u0301x"), "ex");
  EXPECT_EQ(Normalized(R"({"type": "Prepend", "prepend": "_"})", "ab"), "_ab");
  EXPECT_EQ(Normalized(R"({"type": "Prepend", "prepend": "_"})", ""), "");
  EXPECT_EQ(Normalized(R"({"type": "Strip", "strip_left": true, "strip_right": false})", " \u3000a "), "a ");
  EXPECT_EQ(Normalized(R"({"type": "Strip", "strip_left": true, "strip_right": true})", "  "), "");
  EXPECT_EQ(Normalized(R"({"type": "Replace", "pattern": {"Regex": "\\d+"}, "content": "#"})", "a12b3"), "a#b#");
  EXPECT_EQ(Normalized(R"({"type": "ByteLevel"})", "é a"), "Ã©Ġa");
}

TEST(NormalizerTest, SequencesRunInOrder) {
  EXPECT_EQ(Normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})", "é"),
            "e");
}

TEST(NormalizerTest, RefusesToFillTheMemoryFromAFewBytes) {
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  EXPECT_EQ(Normalized(replace.dump(), "aa"), std::string(2000, 'a'));
  EXPECT_EQ(testing_text::ErrorOf([&] { Normalized(replace.dump(), std::string(2000, 'a')); }),
            "resource-exhausted: the normalizer makes 2002000 bytes of 2000; at most 64 times as many and 1048576 are "
            "allowed");
  // Steps that stay below it one by one do not together.
  const Json twice = {{"type", "Sequence"}, {"normalizers", {replace, replace, replace}}};
  EXPECT_NE(testing_text::ErrorOf([&] { Normalized(twice.dump(), "aa"); }), "no error");
}

TEST(NormalizerTest, KeepsTrackOfTheOriginal) {
  const Json json = ParseJson(kBert, "normalizer");
  TextScratch scratch;
  const auto text = Normalizer::FromJson(JsonView(json, "normalizer"))->Normalize(AlignedText("\x01É中"), &scratch);
  ASSERT_EQ(text.text(), "e 中 ");
  EXPECT_EQ(text.Original(0, 1), (Span{1, 3}));  // e comes from É
  EXPECT_EQ(text.Original(1, 6), (Span{3, 6}));  // the spaces come from 中
}

TEST(NormalizerTest, NmtDropsControlsAndMakesSpaces) {
  EXPECT_EQ(Normalized(R"({"type": "Nmt"})",
                       "\x01"
                       "a\tb\u200Dc\x7F"
                       "d\uFEFF▁e\u00A0"),
            "a b cd  e\u00A0");
}

TEST(NormalizerTest, NamesAnUnknownType) {
  EXPECT_EQ(ErrorOf([] { Normalized(R"({"type": "Rot13"})", ""); }),
            "unsupported: normalizer: the normalizer 'Rot13' is not supported");
}

}  // namespace
}  // namespace mconnect
