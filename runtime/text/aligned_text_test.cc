#include "runtime/text/aligned_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

// The original range of each byte.
std::vector<Span> Ranges(const AlignedText& text) {
  std::vector<Span> ranges;
  for (std::size_t i = 0; i < text.text().size(); ++i) ranges.push_back(text.Original(i, i + 1));
  return ranges;
}

TEST(AlignedTextTest, UnchangedBytesComeFromTheirCharacter) {
  const AlignedText text("aé!", 10);
  EXPECT_EQ(Ranges(text), (std::vector<Span>{{10, 11}, {11, 13}, {11, 13}, {13, 14}}));
  EXPECT_EQ(text.Original(0, 4), (Span{10, 14}));
  const AlignedText slice = text.Slice(1, 4);
  EXPECT_EQ(slice.text(), "é!");
  EXPECT_EQ(slice.begin(), 11u);
  EXPECT_TRUE(slice.unchanged());
  EXPECT_EQ(slice.Original(2, 3), (Span{13, 14}));
}

TEST(AlignedTextTest, ChangesSayWhereNewCharactersComeFrom) {
  TextArena arena;
  // "xab": 'x' goes, 'a' becomes "AE", 'b' goes.
  const AlignedText text =
      AlignedText("xab").Transform(std::vector<Change>{{U'A', 0}, {U'É', 1}, {U'z', -1}}, 1, &arena);
  EXPECT_EQ(text.text(), "AÉz");
  EXPECT_FALSE(text.unchanged());
  EXPECT_EQ(Ranges(text), (std::vector<Span>{{1, 2}, {1, 2}, {1, 2}, {2, 3}}));
  EXPECT_EQ(Ranges(text.Slice(3, 4)), (std::vector<Span>{{2, 3}}));
  EXPECT_EQ(text.Slice(3, 4).begin(), 2u);
}

TEST(AlignedTextTest, ChangesBeyondTheTextAreLeftOut) {
  TextArena arena;
  const AlignedText text = AlignedText("a").Transform(std::vector<Change>{{U'A', 0}, {U'B', 0}}, 0, &arena);
  EXPECT_EQ(text.text(), "A");
}

TEST(AlignedTextTest, ReplacedPartsComeFromTheirLastCharacter) {
  TextArena arena;
  const std::vector<Match> parts = {{0, 1, false}, {1, 3, true}, {3, 4, false}};
  const AlignedText text = AlignedText("a  b", 5).Replace(parts, "__", &arena);
  EXPECT_EQ(text.text(), "a__b");
  EXPECT_EQ(Ranges(text), (std::vector<Span>{{5, 6}, {7, 8}, {7, 8}, {8, 9}}));
}

TEST(AlignedTextTest, APrefixIsPartOfTheFirstCharacter) {
  TextArena arena;
  const AlignedText text = AlignedText("éa").Prepend("__", &arena);
  EXPECT_EQ(text.text(), "__éa");
  EXPECT_EQ(Ranges(text), (std::vector<Span>{{0, 2}, {0, 2}, {0, 2}, {0, 2}, {2, 3}}));
  EXPECT_TRUE(AlignedText("a").Prepend("", &arena).unchanged());
}

TEST(AlignedTextTest, AnotherTextOfTheSameLengthsKeepsTheRanges) {
  EXPECT_EQ(Ranges(AlignedText("É", 3).WithText("é")), (std::vector<Span>{{3, 5}, {3, 5}}));
}

TEST(TextArenaTest, GivesOutEmptyTextsThatStayUntilCleared) {
  TextArena arena;
  std::string* first = arena.NewText();
  *first = "first";
  for (int i = 0; i < 1000; ++i) *arena.NewText() = std::string(100, 'x');
  EXPECT_EQ(*first, "first");
  arena.Clear();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(arena.NewText()->empty());
    EXPECT_TRUE(arena.NewAlignments()->empty());
  }
}

}  // namespace
}  // namespace mconnect
