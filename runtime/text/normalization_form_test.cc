#include "runtime/text/normalization_form.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

class NormalizationFormTest : public testing::Test {
 protected:
  AlignedText To(NormalizationForm form, std::string_view text) {
    return ToNormalizationForm(AlignedText(text), form, &changes_, &arena_);
  }

  std::vector<Change> changes_;
  TextArena arena_;
};

// The examples of Unicode Standard Annex 15, figures 3 to 6.
TEST_F(NormalizationFormTest, AreThoseOfTheAnnex) {
  EXPECT_EQ(To(NormalizationForm::kNfc, "A\u030a").text(), "\u00c5");
  EXPECT_EQ(To(NormalizationForm::kNfc, "\u212b").text(), "\u00c5");  // the sign for angstrom
  EXPECT_EQ(To(NormalizationForm::kNfd, "\u00f4").text(), "o\u0302");
  EXPECT_EQ(To(NormalizationForm::kNfd, "\u1e69").text(), "s\u0323\u0307");
  EXPECT_EQ(To(NormalizationForm::kNfc, "s\u0307\u0323").text(), "\u1e69");
  EXPECT_EQ(To(NormalizationForm::kNfd, "\u1e0b\u0323").text(), "d\u0323\u0307");
  EXPECT_EQ(To(NormalizationForm::kNfc, "\u1e0b\u0323").text(), "\u1e0d\u0307");
  EXPECT_EQ(To(NormalizationForm::kNfc, "\ufb01").text(), "\ufb01");
  EXPECT_EQ(To(NormalizationForm::kNfkc, "\ufb012\u2075").text(), "fi25");
  EXPECT_EQ(To(NormalizationForm::kNfkd, "\u1e9b\u0323").text(), "s\u0323\u0307");
}

TEST_F(NormalizationFormTest, HangulIsComposedAndDecomposed) {
  EXPECT_EQ(To(NormalizationForm::kNfd, "\ud55c").text(), "\u1112\u1161\u11ab");
  EXPECT_EQ(To(NormalizationForm::kNfc, "\u1112\u1161\u11ab").text(), "\ud55c");
}

TEST_F(NormalizationFormTest, AMarkThatIsBlockedStays) {
  EXPECT_EQ(To(NormalizationForm::kNfc, "a\u0305\u0301").text(), "a\u0305\u0301");  // of one class
  EXPECT_EQ(To(NormalizationForm::kNfc, "\u0958").text(), "\u0915\u093c");          // excluded from composition
}

TEST_F(NormalizationFormTest, WhatIsInTheFormIsNotCopied) {
  EXPECT_TRUE(To(NormalizationForm::kNfkd, "plain").unchanged());
  EXPECT_TRUE(To(NormalizationForm::kNfc, "déjà 日本").unchanged());
}

TEST_F(NormalizationFormTest, PartsComeFromTheWholeAndTheWholeFromItsFirstPart) {
  const AlignedText parts = To(NormalizationForm::kNfd, "x\u00e9y");
  EXPECT_EQ(parts.Original(1, 2), (Span{1, 3}));
  EXPECT_EQ(parts.Original(2, 4), (Span{1, 3}));
  EXPECT_EQ(parts.Original(4, 5), (Span{3, 4}));
  const AlignedText whole = To(NormalizationForm::kNfc, "xe\u0301y");
  EXPECT_EQ(whole.text(), "x\u00e9y");
  EXPECT_EQ(whole.Original(1, 3), (Span{1, 2}));
  EXPECT_EQ(whole.Original(3, 4), (Span{4, 5}));
}

}  // namespace
}  // namespace mconnect
