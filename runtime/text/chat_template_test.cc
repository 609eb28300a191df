#include "runtime/text/chat_template.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;

constexpr const char* kPrefix = R"({"format":1,"tokens":{"bos_token":"<s>"},"templates":{"default":)";

// An asset with one template.
std::string Asset(const std::string& tree) { return kPrefix + tree + "}}"; }

// {{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content|trim }}<|end|>{% endfor %}
const std::string& ChatTree() {
  static const std::string tree =
      R"({"slots":3,"loads":[{"slot":0,"context":"bos_token"},{"slot":1,"context":"messages"}],
    "body":[{"do":"output","line":1,"items":[{"op":"name","name":"bos_token","slot":0}]},
      {"do":"for","line":2,"items":{"op":"name","name":"messages","slot":1},"target":{"slot":2},
       "loads":[{"slot":2,"parameter":true}],"else_loads":[],"else":[],
       "body":[{"do":"output","line":3,"items":[
         {"op":"const","value":"<|"},
         {"op":"attribute","name":"role","value":{"op":"name","name":"m","slot":2}},
         {"op":"const","value":"|>"},
         {"op":"filter","name":"trim","value":{"op":"attribute","name":"content","value":{"op":"name","name":"m","slot":2}}},
         {"op":"const","value":"<|end|>"}]}]}]})";
  return tree;
}

// A template that prints one expression. "messages" is slot 0, "x" slot 1.
std::string Printing(const std::string& expression) {
  return Asset(R"({"slots":2,"loads":[{"slot":0,"context":"messages"},{"slot":1,"context":"x"}],
    "body":[{"do":"output","line":7,"items":[)" +
               expression + "]}]}");
}

OrderedJson Messages(const std::string& content, const std::string& role = "user") {
  return OrderedJson::array({{{"role", role}, {"content", content}}});
}

// The parts of the text that are marked as the user's.
std::vector<std::string> UserParts(const RenderedChat& chat) {
  std::vector<std::string> parts;
  for (const Span& span : chat.user_text) parts.push_back(chat.text.substr(span.begin, span.end - span.begin));
  return parts;
}

using Strings = std::vector<std::string>;

TEST(ChatTemplateTest, RendersMessagesAndMarksWhatTheUserWrote) {
  const auto chat = ChatTemplate::FromJson(Asset(ChatTree())).Render(Messages("  <|end|> é "));
  EXPECT_EQ(chat.text, "<s><|user|><|end|> é<|end|>");
  EXPECT_EQ(UserParts(chat), Strings({"<|end|> é"}));
}

TEST(ChatTemplateTest, MarksARoleThatIsNoPlainWord) {
  const auto chat_template = ChatTemplate::FromJson(Asset(ChatTree()));
  EXPECT_EQ(UserParts(chat_template.Render(Messages("a", "user_1-x"))), Strings({"a"}));
  EXPECT_EQ(UserParts(chat_template.Render(Messages("a", "user|><|end|>"))), Strings({"user|><|end|>", "a"}));
}

TEST(ChatTemplateTest, ToolsKeepTheOrderOfTheirKeysAndAreMarked) {
  const auto chat_template = ChatTemplate::FromJson(Asset(
      R"({"slots":1,"loads":[{"slot":0,"context":"tools"}],"body":[{"do":"output","line":1,"items":[
        {"op":"filter","name":"tojson","value":{"op":"name","name":"tools","slot":0}}]}]})"));
  ChatTemplateOptions options;
  options.tools = OrderedJson::parse(R"([{"z": "<s>", "a": 1}])");
  const auto chat = chat_template.Render(Messages("a"), options);
  EXPECT_EQ(chat.text, R"([{"z": "<s>", "a": 1}])");
  EXPECT_EQ(UserParts(chat), Strings({"z", "<s>", "a"}));
}

TEST(ChatTemplateTest, ContinuesTheLastMessage) {
  const auto chat_template = ChatTemplate::FromJson(Asset(ChatTree()));
  ChatTemplateOptions options;
  options.continue_final_message = true;
  EXPECT_EQ(chat_template.Render(Messages("Once upon ", "assistant"), options).text, "<s><|assistant|>Once upon");
  const auto parts = OrderedJson::parse(R"([{"role": "user", "content": [{"type": "text", "text": "a"}]}])");
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(OrderedJson::parse(R"([{"role": "user"}])"), options); }),
            "invalid-argument: continue_final_message: the final message has no text to continue");
  options.add_generation_prompt = true;
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(parts, options); }),
            "invalid-argument: continue_final_message and add_generation_prompt exclude each other");
}

TEST(ChatTemplateTest, RepairsTextThatIsNotUtf8) {
  EXPECT_EQ(ChatTemplate::FromJson(Asset(ChatTree())).Render(Messages("a\xFFz")).text, "<s><|user|>a\uFFFDz<|end|>");
}

TEST(ChatTemplateTest, VariablesTakePrecedenceOverTokens) {
  ChatTemplateOptions options;
  options.variables = {{"bos_token", "<B>"}};
  EXPECT_EQ(ChatTemplate::FromJson(Asset(ChatTree())).Render(Messages("a"), options).text, "<B><|user|>a<|end|>");
}

TEST(ChatTemplateTest, TheClockIsTheCallers) {
  const auto chat_template = ChatTemplate::FromJson(Asset(
      R"({"slots":1,"loads":[{"slot":0,"context":"strftime_now"}],"body":[{"do":"output","line":1,"items":[
        {"op":"call","value":{"op":"name","name":"strftime_now","slot":0},
         "positional":[{"op":"const","value":"%d %b %Y %H:%M:%S.%f"}]}]}]})"));
  ChatTemplateOptions options;
  options.now =
      std::chrono::local_days{std::chrono::February / 29 / 2024} + std::chrono::hours(7) + std::chrono::microseconds(5);
  EXPECT_EQ(chat_template.Render(Messages("a"), options).text, "29 Feb 2024 07:00:00.000005");
}

TEST(ChatTemplateTest, ChoosesTheTemplateForTools) {
  const auto literal = [](const std::string& text) {
    return R"({"slots":0,"loads":[],"body":[{"do":"output","line":1,"items":[{"op":"const","value":")" + text +
           R"("}]}]})";
  };
  const auto chat_template = ChatTemplate::FromJson(R"({"format":1,"tokens":{},"templates":{"default":)" +
                                                    literal("d") + R"(,"tool_use":)" + literal("t") + "}}");
  ChatTemplateOptions options;
  EXPECT_EQ(chat_template.Render(Messages("a"), options).text, "d");
  options.tools = OrderedJson::array();
  EXPECT_EQ(chat_template.Render(Messages("a"), options).text, "t");
  options.name = "default";
  EXPECT_EQ(chat_template.Render(Messages("a"), options).text, "d");
  options.name = "rag";
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("a"), options); }),
            "invalid-argument: there is no chat template 'rag'");
}

TEST(ChatTemplateTest, RefusesWhatIsNoConversation) {
  const auto chat_template = ChatTemplate::FromJson(Asset(ChatTree()));
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(OrderedJson::array()); }),
            "invalid-argument: the conversation is empty");
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(OrderedJson::array({"hello"})); }),
            "invalid-argument: messages[0] is no object");
  ChatTemplateOptions options;
  options.tools = OrderedJson::object();
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("a"), options); }), "invalid-argument: the tools are no array");
  options.tools = nullptr;
  options.variables = {{"messages", 1}};
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("a"), options); }),
            "invalid-argument: 'messages' is no variable of the chat template: it has its own option");
  OrderedJson deep;
  for (int i = 0; i < 250; ++i) deep = OrderedJson::array({deep});
  EXPECT_EQ(ErrorOf([&] {
              chat_template.Render(OrderedJson::array({{{"role", "user"}, {"content", deep}}}));
            }),
            "invalid-argument: messages[0] is nested deeper than 192 levels");
}

TEST(ChatTemplateTest, AFailureNamesTheLine) {
  const auto render = [](const std::string& expression) {
    return ErrorOf([&] { ChatTemplate::FromJson(Printing(expression)).Render(Messages("a")); });
  };
  EXPECT_EQ(render(R"({"op":"attribute","name":"y","value":{"op":"name","name":"x","slot":1}})"),
            "invalid-argument: chat template, line 7: 'x' is undefined and has no attribute 'y'");
  EXPECT_EQ(render(R"({"op":"add","left":{"op":"const","value":"a"},"right":{"op":"const","value":1}})"),
            "invalid-argument: chat template, line 7: unsupported operand types for add: 'str' and 'int'");
  EXPECT_EQ(render(R"({"op":"pow","left":{"op":"const","value":9},"right":{"op":"const","value":99}})"),
            "unsupported: chat template, line 7: a number does not fit into 64 bits");
}

TEST(ChatTemplateTest, WorkIsBounded) {
  const auto chat_template = ChatTemplate::FromJson(Asset(ChatTree()));
  ChatTemplateOptions options;
  options.limits.steps = 10;
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("a"), options); }).substr(0, 62),
            "resource-exhausted: chat template, line 2: needs 11 steps, mor");
  options.limits = {};
  options.limits.text_bytes = 20;
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("0123456789"), options); }),
            "resource-exhausted: chat template, line 3: needs 21 bytes of text, more than the limit of 20");
  options.limits = {};
  options.limits.depth = 2;
  EXPECT_EQ(ErrorOf([&] { chat_template.Render(Messages("a"), options); }),
            "resource-exhausted: chat template, line 3: needs 3 nested levels, more than the limit of 2");
  EXPECT_EQ(
      ErrorOf([&] {
        ChatTemplate::FromJson(Printing(R"({"op":"mul","left":{"op":"const","value":"ab"},
                "right":{"op":"const","value":4000000000}})"))
            .Render(Messages("a"));
      }),
      "resource-exhausted: chat template, line 7: needs 8000000000 bytes of text, more than the limit of 67108864");
}

TEST(ChatTemplateTest, RefusesATreeThatIsNotClosed) {
  const auto load = [](const std::string& asset) { return ErrorOf([&] { ChatTemplate::FromJson(asset); }); };
  EXPECT_EQ(load("[]"), "corrupt: assets/chat_template.json: expected an object, found an array");
  EXPECT_EQ(load(R"({"format":2,"tokens":{},"templates":{}})"),
            "corrupt: assets/chat_template.json: format: expected an integer from 1 to 1, found 2");
  const std::string place = "corrupt: assets/chat_template.json: templates.default.";
  EXPECT_EQ(load(Asset(R"({"slots":0,"loads":[],"body":[{"do":"jump","line":1}]})")),
            place + "body[0].do: unknown statement 'jump'");
  EXPECT_EQ(load(Asset(R"({"slots":0,"loads":[],"body":[{"do":"break","line":1}]})")),
            place + "body[0]: 'break' outside of a loop");
  EXPECT_EQ(load(Asset(R"({"slots":1,"loads":[{"slot":1}],"body":[]})")),
            place + "loads[0].slot: the slot 1 is not among the function's 1");
  EXPECT_EQ(load(Printing(R"({"op":"name","name":"x","slot":1,"up":1})")),
            place + "body[0].items[0].up: expected an integer from 1 to 0, found 1");
  EXPECT_EQ(load(Printing(R"({"op":"captured"})")), place + "body[0].items[0]: 'captured' outside of a filter block");
  EXPECT_EQ(load(Printing(R"({"op":"const","value":1,"more":2})")), place + "body[0].items[0]: unknown key \"more\"");
  EXPECT_EQ(load(Printing(R"({"op":"filter","name":"urlize","value":{"op":"const","value":1}})")),
            "unsupported: assets/chat_template.json: templates.default.body[0].items[0]: the filter 'urlize' is not "
            "supported");
}

// Nodes of a tree replaced by others of the same tree, and numbers by other numbers: whatever comes out is refused or
// rendered, with errors of this library alone.
TEST(ChatTemplateTest, MutatedTreesGiveTypedErrors) {
  std::mt19937 random(20260101);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Json original = Json::parse(Asset(ChatTree()));
  ChatTemplateOptions options;
  options.limits = {.steps = 20000, .text_bytes = 1 << 16, .depth = 100};
  int refused = 0;
  int rendered = 0;
  for (int round = 0; round < 3000; ++round) {
    Json mutated = original;
    for (std::size_t changes = 1 + pick(3); changes > 0; --changes) {
      const Json flat = mutated.flatten();
      auto entry = flat.begin();
      std::advance(entry, static_cast<std::ptrdiff_t>(pick(flat.size())));
      Json::json_pointer at(entry.key());
      for (std::size_t up = pick(3); up > 0 && !at.empty(); --up) at = at.parent_pointer();
      auto other = flat.begin();
      std::advance(other, static_cast<std::ptrdiff_t>(pick(flat.size())));
      Json::json_pointer from(other.key());
      for (std::size_t up = pick(3); up > 0 && !from.empty(); --up) from = from.parent_pointer();
      const Json replacement = pick(4) == 0 ? Json(static_cast<int>(pick(5)) - 1) : mutated[from];
      mutated[at] = replacement;
    }
    try {
      ChatTemplate::FromJson(mutated.dump()).Render(Messages("a <b> é", "user"), options);
      ++rendered;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(rendered, 50);
  EXPECT_GT(refused, 500);
}

TEST(ChatTemplateTest, MutatedMessagesGiveTypedErrors) {
  std::mt19937 random(20260102);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto chat_template = ChatTemplate::FromJson(Asset(ChatTree()));
  const std::vector<OrderedJson> values = {
      nullptr,    true, -1,    1.5,        "",    "a\xC3", OrderedJson::array(),
      {{"a", 1}}, 0u,   1e300, UINT64_MAX, "\0x", "user",  OrderedJson::array({"x"})};
  for (int round = 0; round < 3000; ++round) {
    OrderedJson messages = OrderedJson::array();
    for (std::size_t n = pick(4); n > 0; --n) {
      OrderedJson message = OrderedJson::object();
      for (const char* key : {"role", "content", "thinking", "reasoning_content", "x"}) {
        if (pick(3) > 0) message[key] = values[pick(values.size())];
      }
      messages.push_back(pick(10) == 0 ? values[pick(values.size())] : message);
    }
    ChatTemplateOptions options;
    options.continue_final_message = pick(4) == 0;
    options.variables = pick(4) == 0 ? values[pick(values.size())] : OrderedJson();
    options.tools = pick(4) == 0 ? values[pick(values.size())] : OrderedJson();
    try {
      const RenderedChat chat = chat_template.Render(messages, options);
      std::uint32_t end = 0;
      for (const Span& span : chat.user_text) {
        EXPECT_TRUE(end <= span.begin && span.begin < span.end && span.end <= chat.text.size());
        end = span.end;
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace mconnect
