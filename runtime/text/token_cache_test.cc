#include "runtime/text/token_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace mconnect {
namespace {

using Tokens = std::vector<std::tuple<TokenId, int, int>>;

Tokens Get(const TokenCache& cache, std::string_view part, std::uint8_t kind = 0) {
  Tokens tokens;
  const bool known = cache.ForEachToken(
      part, kind, [&](const CachedToken& token) { tokens.emplace_back(token.id, token.begin, token.end); });
  if (!known) tokens.emplace_back(-1, 0, 0);
  return tokens;
}

const Tokens kUnknown = {{-1, 0, 0}};

TEST(TokenCacheTest, KnowsWhatWasPut) {
  TokenCache cache;
  EXPECT_EQ(Get(cache, " hello"), kUnknown);
  const std::vector<CachedToken> tokens = {{123456789, 0, 3}, {7, 3, 6}};
  cache.Put(" hello", 0, tokens);
  EXPECT_EQ(Get(cache, " hello"), (Tokens{{123456789, 0, 3}, {7, 3, 6}}));
  EXPECT_EQ(Get(cache, " hello", 1), kUnknown);
  EXPECT_EQ(Get(cache, " hellp"), kUnknown);
  cache.Put(" ", 2, {});
  EXPECT_EQ(Get(cache, " ", 2), Tokens{});
}

TEST(TokenCacheTest, KeepsNoPartThatHasNoRoom) {
  TokenCache cache;
  const std::vector<CachedToken> most(TokenCache::kMaxTokens, CachedToken{1, 0, 1});
  cache.Put("short", 0, most);
  EXPECT_EQ(Get(cache, "short").size(), TokenCache::kMaxTokens);
  const std::string longest(TokenCache::kMaxBytes, 'x');
  cache.Put(longest, 0, most);
  EXPECT_EQ(Get(cache, longest), kUnknown);
  cache.Put(longest, 0, std::vector<CachedToken>{{1, 0, 62}});
  EXPECT_EQ(Get(cache, longest), (Tokens{{1, 0, 62}}));
  cache.Put(longest + "x", 0, {});
  EXPECT_EQ(Get(cache, longest + "x"), kUnknown);
  cache.Put("", 0, {});
  EXPECT_EQ(Get(cache, ""), kUnknown);
}

TEST(TokenCacheTest, NeverTakesOnePartForAnother) {
  TokenCache cache;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 90000; ++i) {  // more than the cache has places
      const std::string part = std::string(static_cast<std::size_t>(i % 23), 'a') + std::to_string(i);
      const Tokens got = Get(cache, part);
      if (got != kUnknown) {
        ASSERT_EQ(got, (Tokens{{i, 0, 1}})) << part;
      }
      cache.Put(part, 0, std::vector<CachedToken>{{i, 0, 1}});
      ASSERT_EQ(Get(cache, part), (Tokens{{i, 0, 1}})) << part;
    }
  }
}

TEST(TokenCacheTest, ThePartSeenLastStays) {
  TokenCache cache;
  std::vector<std::string> parts;
  for (int i = 0; i < 1000; ++i) parts.push_back("word" + std::to_string(i));
  for (const std::string& part : parts) cache.Put(part, 0, std::vector<CachedToken>{{1, 0, 1}});
  int known = 0;
  for (const std::string& part : parts) known += Get(cache, part) != kUnknown;
  EXPECT_GT(known, 900);
}

}  // namespace
}  // namespace mconnect
