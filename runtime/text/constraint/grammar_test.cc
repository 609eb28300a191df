#include "runtime/text/constraint/grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/constraint/constraint_testing.h"

namespace mconnect {
namespace {

TEST(GrammarTest, RulesCallEachOther) {
  // Balanced parentheses around an x.
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  const Fragment nested = builder.Then(builder.Literal("("), builder.Then(builder.Call(rule), builder.Literal(")")));
  builder.Define(rule, builder.Either({nested, builder.Literal("x")}));
  Automaton automaton(builder.Finish(rule));
  EXPECT_TRUE(Matches(automaton, "x"));
  EXPECT_TRUE(Matches(automaton, "(((x)))"));
  EXPECT_FALSE(Matches(automaton, "((x)"));
  EXPECT_FALSE(Matches(automaton, "(x))"));
}

// Each parenthesis doubles the ways in which the text so far can be read.
TEST(GrammarTest, AmbiguityThatGrowsWithoutBoundIsAnErrorAndTheAutomatonGoesOn) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  const auto nested = [&] {
    return builder.Then(builder.Literal("("), builder.Then(builder.Call(rule), builder.Literal(")")));
  };
  const Fragment first = nested();
  builder.Define(rule, builder.Either({first, nested(), builder.Literal("x")}));
  Automaton automaton(builder.Finish(rule));
  for (int tries = 0; tries < 2; ++tries) {
    Automaton::State state = automaton.start();
    std::string message;
    for (int depth = 0; depth < 40 && message.empty(); ++depth) {
      try {
        state = automaton.Next(state, '(');
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::kResourceExhausted);
        message = e.message();
      }
    }
    EXPECT_TRUE(message.starts_with("the output format needs more than ")) << message;
    EXPECT_TRUE(Matches(automaton, "((x))"));
  }
}

TEST(GrammarTest, CallsNestOnlyAsFarAsTheyCanReturn) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  const Fragment nested = builder.Then(builder.Literal("("), builder.Then(builder.Call(rule), builder.Literal(")")));
  builder.Define(rule, builder.Either({nested, builder.Literal("x")}));
  Automaton automaton(builder.Finish(rule));
  Automaton::State state = automaton.start();
  for (std::uint32_t depth = 0; depth < Automaton::kMaxDepth; ++depth) {
    state = automaton.Next(state, '(');
    ASSERT_NE(state, Automaton::kDead) << depth;
  }
  EXPECT_EQ(automaton.Next(state, '('), Automaton::kDead);
  EXPECT_NE(automaton.Next(state, 'x'), Automaton::kDead);
}

TEST(GrammarTest, KnowsWhereATextMayEndAndWhereItMust) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  builder.Define(rule, builder.Repeat(1, 3, [&] { return builder.Literal("a"); }));
  Automaton automaton(builder.Finish(rule));
  Automaton::State state = automaton.start();
  EXPECT_FALSE(automaton.Accepts(state));
  for (int i = 1; i <= 3; ++i) {
    state = automaton.Next(state, 'a');
    EXPECT_TRUE(automaton.Accepts(state));
    EXPECT_EQ(automaton.Ends(state), i == 3);
  }
  EXPECT_EQ(automaton.Next(state, 'a'), Automaton::kDead);
}

TEST(GrammarTest, OneSpaceBeforeTheTextCanBeLeftOut) {
  const auto compile = [] {
    GrammarBuilder builder;
    const Grammar::NodeId rule = builder.NewRule();
    builder.Define(rule, builder.Either({builder.Literal("a"), builder.Literal(" b")}));
    return builder.Finish(rule);
  };
  Automaton automaton(compile(), /*skip_space=*/true);
  EXPECT_TRUE(Matches(automaton, "a"));
  EXPECT_TRUE(Matches(automaton, " a"));
  EXPECT_TRUE(Matches(automaton, "  b"));
  EXPECT_FALSE(Matches(automaton, " b"));  // without its space, this is "b"
}

TEST(GrammarTest, RefusesWhatAdmitsNothing) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  builder.Define(rule, builder.Then(builder.Literal("a"), builder.Call(rule)));  // never ends
  EXPECT_THROW(builder.Finish(rule), Error);
}

}  // namespace
}  // namespace mconnect
