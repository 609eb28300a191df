#include "runtime/text/model/token_trie.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mconnect {
namespace {

using Found = std::vector<std::pair<std::size_t, TokenId>>;

Found Prefixes(const TokenTrie& trie, std::string_view text) {
  Found found;
  trie.ForEachPrefix(text, [&](std::size_t size, TokenId id) { found.emplace_back(size, id); });
  return found;
}

TEST(TokenTrieTest, FindsTheShortestFirst) {
  const TokenTrie trie({{"a", 5}, {"ab", 2}, {"abcd", 7}, {"b", 0}, {"é", 9}, {"", 4}});
  EXPECT_EQ(Prefixes(trie, "abcde"), (Found{{1, 5}, {2, 2}, {4, 7}}));
  EXPECT_EQ(Prefixes(trie, "éa"), (Found{{2, 9}}));
  EXPECT_EQ(Prefixes(trie, "xab"), Found{});
  EXPECT_EQ(Prefixes(trie, ""), Found{});
  EXPECT_EQ(Prefixes(TokenTrie({}), "a"), Found{});
}

TEST(TokenTrieTest, FindsWhatALookUpOfEachPrefixFinds) {
  std::mt19937 rng(1);
  const auto text = [&rng](std::size_t longest) {
    std::string bytes(rng() % (longest + 1), ' ');
    for (char& b : bytes) b = static_cast<char>(rng() % 4 == 0 ? rng() % 256 : 'a' + rng() % 3);
    return bytes;
  };
  TokenMap tokens;
  for (TokenId id = 0; id < 3000; ++id) tokens.emplace(text(6), id);
  const TokenTrie trie(tokens);
  for (int i = 0; i < 3000; ++i) {
    const std::string each = text(9);
    Found expected;
    for (std::size_t size = 1; size <= each.size(); ++size) {
      if (const auto found = tokens.find(each.substr(0, size)); found != tokens.end()) {
        expected.emplace_back(size, found->second);
      }
    }
    ASSERT_EQ(Prefixes(trie, each), expected);
  }
}

}  // namespace
}  // namespace mconnect
