#include "runtime/cli/texts.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "mconnect/error.h"

namespace mconnect::cli {
namespace {

using Texts = std::vector<std::string>;

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// The message of the error that `call` must throw.
template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_FALSE(e.remedy().empty()) << e.message();
    return e.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

std::string Replaced(std::string json) {
  ReplaceLoneSurrogates(json);
  return json;
}

TEST(Texts, ReplacesOnlyLoneHalvesOfSurrogatePairs) {
  EXPECT_EQ(Replaced(R"("\ud800")"), R"("\ufffd")");
  EXPECT_EQ(Replaced(R"("\uDC00x")"), R"("\ufffdx")");
  EXPECT_EQ(Replaced(R"("\ud83d\ude00")"), R"("\ud83d\ude00")");
  EXPECT_EQ(Replaced(R"("\ud83d\ud83d\ude00")"), R"("\ufffd\ud83d\ude00")");
  EXPECT_EQ(Replaced(R"("\ude00\ud83d")"), R"("\ufffd\ufffd")");
  EXPECT_EQ(Replaced(R"("\ud83dA")"), R"("\ufffdA")");
  EXPECT_EQ(Replaced(R"("\ud83d\n")"), R"("\ufffd\n")");
}

TEST(Texts, LeavesEscapedBackslashesAlone) {
  EXPECT_EQ(Replaced(R"("\\ud800")"), R"("\\ud800")");
  EXPECT_EQ(Replaced(R"("\\\ud800")"), R"("\\\ufffd")");
  EXPECT_EQ(Replaced(R"("\ud8)"), R"("\ud8)");
  EXPECT_EQ(Replaced("\\"), "\\");
}

TEST(Texts, ParsesJsonStringsWithEveryEscape) {
  EXPECT_EQ(ParseJsonTexts(R"(["a", "", "\ud83d\ude00", "\ud800", "\u0000"])", "x"),
            (Texts{"a", "", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD", std::string(1, '\0')}));
  EXPECT_EQ(ParseJsonTexts("[]", "x"), Texts{});
}

TEST(Texts, NamesThePlaceOfAMistakeInJson) {
  const std::string message = MessageOf([] { ParseJsonTexts("[\"a\",\n  \"b\" \"c\"]", "list.json"); });
  EXPECT_NE(message.find("list.json"), std::string::npos) << message;
  EXPECT_NE(message.find("line 2, column"), std::string::npos) << message;
}

TEST(Texts, RefusesJsonThatIsNoListOfStrings) {
  EXPECT_NE(MessageOf([] { ParseJsonTexts("{}", "x"); }).find("got object"), std::string::npos);
  EXPECT_NE(MessageOf([] { ParseJsonTexts("[\"a\", 7]", "x"); }).find("item 1 is number"), std::string::npos);
  EXPECT_EQ(MessageOf([] { ParseJsonTexts("[1e999]", "x"); }), "x: a number in it is too large");
}

TEST(Texts, SplitsLinesAsEditorsDo) {
  EXPECT_EQ(ParseLines("a\nb\n", "x"), (Texts{"a", "b"}));
  EXPECT_EQ(ParseLines("a\r\n\r\nb", "x"), (Texts{"a", "", "b"}));
}

TEST(Texts, RefusesFilesInOtherEncodings) {
  const std::string utf16 = WriteFile("utf16.txt", std::string("\xFF\xFEh\0i\0", 6));
  EXPECT_NE(MessageOf([&] { ReadTexts(utf16, ListFormat::kAuto); }).find("utf16.txt is not UTF-8: byte 0xff"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { ParseJsonTexts("[\"\xE9\"]", "x"); }).find("x is not UTF-8: byte 0xe9"), std::string::npos);
}

TEST(Texts, ChoosesTheFormatByName) {
  EXPECT_EQ(ReadTexts(WriteFile("a.json", "[\"x\"]"), ListFormat::kAuto), Texts{"x"});
  EXPECT_EQ(ReadTexts(WriteFile("a.txt", "[\"x\"]"), ListFormat::kAuto), Texts{"[\"x\"]"});
  EXPECT_EQ(ReadTexts(WriteFile("b.txt", "[\"x\"]"), ListFormat::kJson), Texts{"x"});
}

TEST(Texts, RefusesInputThatHoldsNothing) {
  EXPECT_NE(MessageOf([] { ReadTexts(WriteFile("empty.txt", " \n"), ListFormat::kAuto); }).find("holds no text"),
            std::string::npos);
}

TEST(Texts, RefusesFilesThatCannotBeRead) {
  EXPECT_NE(MessageOf([] { ReadInput(testing::TempDir() + "absent"); }).find("absent"), std::string::npos);
  EXPECT_NE(MessageOf([] { ReadInput(testing::TempDir()); }).find("is a folder"), std::string::npos);
}

TEST(Texts, AByteOrderMarkIsNoText) {
  EXPECT_EQ(ReadInput(WriteFile("bom", "\xEF\xBB\xBFone\r\n")), "one\r\n");
  EXPECT_EQ(ReadInput(WriteFile("later", "one\xEF\xBB\xBF")), "one\xEF\xBB\xBF");
}

TEST(Texts, ReadsNoMoreThanTheLimit) {
  EXPECT_EQ(ReadInput(WriteFile("limit", "four"), 4), "four");
  EXPECT_EQ(MessageOf([] { ReadInput(WriteFile("over", "fours"), 4); }),
            testing::TempDir() + "over has more bytes than the limit of 4");
  EXPECT_NE(MessageOf([] { ReadInput("/dev/zero", 100'000); }).find("/dev/zero has more"), std::string::npos);
}

}  // namespace
}  // namespace mconnect::cli
