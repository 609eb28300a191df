#include "runtime/text/model/token_table.h"

#include <gtest/gtest.h>

#include <string>

namespace mconnect {
namespace {

TEST(TokenTableTest, FindsEveryTokenAndNothingElse) {
  TokenMap tokens = {{"", 5}, {"a", 0}, {std::string("\0b", 2), 3}};
  for (TokenId id = 10; id < 5000; ++id) tokens.emplace("token" + std::to_string(id), id);
  const TokenTable table(tokens);
  for (const auto& [token, id] : tokens) EXPECT_EQ(table.Find(token), id);
  for (const std::string& token : {"b", "token", "token5000", "token10 "}) EXPECT_EQ(table.Find(token), -1) << token;
}

TEST(TokenTableTest, AnEmptyOneHasNothing) {
  EXPECT_EQ(TokenTable().Find(""), -1);
  EXPECT_EQ(TokenTable(TokenMap()).Find("a"), -1);
}

}  // namespace
}  // namespace mconnect
