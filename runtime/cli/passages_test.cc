#include "runtime/cli/passages.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "mconnect/error.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> out;
  for (const Passage& p : SplitPassages(text, "f")) out.push_back(std::to_string(p.line) + ":" + p.text);
  return out;
}

using Lines = std::vector<std::string>;

class ReadPassagesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  // "name:line:text" of each passage.
  Lines Read(const FolderOptions& options = {}) {
    Lines out;
    for (const Passage& p : ReadPassages(folder_, options, [&](const std::string& note) { notes_.push_back(note); })) {
      out.push_back(fs::relative(p.file, folder_).string() + ":" + std::to_string(p.line) + ":" + p.text);
    }
    return out;
  }

  fs::path folder_;
  Lines notes_;
};

TEST(SplitPassages, EndsASentenceAtItsStop) {
  EXPECT_EQ(Split("One cat. Two dogs! \"Three?\" Four"),
            (Lines{"1:One cat.", "1:Two dogs!", "1:\"Three?\"", "1:Four"}));
  EXPECT_EQ(Split("猫が好き。犬も好き！"), (Lines{"1:猫が好き。", "1:犬も好き！"}));
}

TEST(SplitPassages, KeepsAbbreviationsAndNumbersWhole) {
  EXPECT_EQ(Split("Dr. Grey paid 3.50 for tea, e.g. Assam. Good."),
            (Lines{"1:Dr. Grey paid 3.50 for tea, e.g. Assam.", "1:Good."}));
  EXPECT_EQ(Split("See mconnect.h for it. Yes."), (Lines{"1:See mconnect.h for it.", "1:Yes."}));
}

TEST(SplitPassages, JoinsLinesOfAParagraphAndNamesTheFirst) {
  EXPECT_EQ(Split("one\n  two\tthree.\nFour\nfive.\n\n\nSix"), (Lines{"1:one two three.", "3:Four five.", "7:Six"}));
}

TEST(SplitPassages, SeparatesHeadingsAndListItems) {
  EXPECT_EQ(Split("# Garden\nWater it\n- first\n- second\n12. third\n"),
            (Lines{"1:# Garden", "2:Water it", "3:- first", "4:- second", "5:12. third"}));
}

TEST(SplitPassages, DropsRulesAndBullets) { EXPECT_EQ(Split("-----\n\n*\n\n. . .\n\nok then"), Lines{"7:ok then"}); }

TEST(SplitPassages, CutsLongPassagesBetweenWordsOrCharacters) {
  for (const Passage& p : SplitPassages(std::string(500, 'a') + " " + std::string(700, 'b'), "f", 600))
    EXPECT_LE(p.text.size(), 600u);
  std::string euros;
  for (int i = 0; i < 500; ++i) euros += "€";
  const std::vector<Passage> parts = SplitPassages(euros, "f", 100);
  std::string joined;
  for (const Passage& p : parts) {
    EXPECT_EQ(InvalidUtf8Offset(p.text), std::string_view::npos);
    joined += p.text;
  }
  EXPECT_EQ(joined, euros);
}

TEST(SplitPassages, KeepsEveryWordOfAnyText) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"word", " ",   "\n", ". ", "! ", "?",  "- ",
                                           "\n\n", "Dr.", "é",  "。", "# ", "\t", "9) "};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    std::int64_t words = 0;
    for (int i = 0; i < 60; ++i) {
      const std::string& piece = pieces[random() % pieces.size()];
      words += piece == "word";
      text += piece;
    }
    std::int64_t found = 0;
    for (const Passage& p : SplitPassages(text, "f", 20)) {
      EXPECT_EQ(InvalidUtf8Offset(p.text), std::string_view::npos);
      EXPECT_GE(p.line, 1);
      for (std::size_t at = p.text.find("word"); at != std::string::npos; at = p.text.find("word", at + 1)) ++found;
    }
    // A run of words without a space may be cut inside one; nothing else may be lost.
    EXPECT_LE(found, words);
    EXPECT_GE(found, words - static_cast<std::int64_t>(text.size() / 20 + 1));
  }
}

TEST_F(ReadPassagesTest, ReadsFilesInOrderOfPath) {
  Write("b.txt", "Second one.");
  Write("a/deep.txt", "First one.");
  EXPECT_EQ(Read(), (Lines{"a/deep.txt:1:First one.", "b.txt:1:Second one."}));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(ReadPassagesTest, LeavesOutBinaryAndForeignFilesWithANote) {
  Write("good.txt", "Good text.");
  Write("image.png", std::string("\x89PNG\0\0", 6));
  Write("latin.txt", "caf\xE9 here");
  EXPECT_EQ(Read(), Lines{"good.txt:1:Good text."});
  ASSERT_EQ(notes_.size(), 2u);
  EXPECT_NE(notes_[0].find("binary"), std::string::npos);
  EXPECT_NE(notes_[1].find("not UTF-8 (offset 3)"), std::string::npos);
}

TEST_F(ReadPassagesTest, LeavesOutFilesOverTheLimitWithANote) {
  Write("big.txt", std::string(2000, 'x'));
  FolderOptions options;
  options.max_file_bytes = 1000;
  EXPECT_TRUE(Read(options).empty());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("2.0 KiB is over the limit of 1000 B"), std::string::npos) << notes_[0];
}

TEST_F(ReadPassagesTest, SurvivesLoopsPipesAndBrokenLinks) {
  Write("a/x.txt", "Only this.");
  fs::create_directory_symlink(folder_, folder_ / "a" / "loop");
  fs::create_symlink(folder_ / "nowhere", folder_ / "broken");
  fs::create_symlink("self", folder_ / "self");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(Read(), Lines{"a/x.txt:1:Only this."});
}

TEST_F(ReadPassagesTest, LeavesOutHiddenFilesSilently) {
  Write(".git/config", "Secret text.");
  Write(".env", "More text.");
  EXPECT_TRUE(Read().empty());
  EXPECT_TRUE(notes_.empty());
}

TEST_F(ReadPassagesTest, TakesOneFileInPlaceOfAFolder) {
  Write("a.txt", "Alone here.");
  folder_ /= "a.txt";
  const std::vector<Passage> found = ReadPassages(folder_, {}, [](const std::string&) {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, folder_.string());
}

TEST_F(ReadPassagesTest, RefusesAFolderThatDoesNotExist) {
  try {
    ReadPassages(folder_ / "absent", {}, [](const std::string&) {});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFound);
  }
}

TEST(ReadPassages, RefusesAPipeInsteadOfWaitingForItsWriter) {
  const std::string path = testing::TempDir() + "passages_fifo";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  try {
    ReadPassages(path, {}, [](const std::string&) {});
    ADD_FAILURE() << "read a pipe";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), path + " is neither a folder nor a regular file");
  }
}

}  // namespace
}  // namespace mconnect::cli
