#include "runtime/base/utf8.h"

#include <gtest/gtest.h>

#include "mconnect/error.h"

namespace mconnect {
namespace {

using std::string_view_literals::operator""sv;

Error ErrorOf(std::string_view text) {
  try {
    RequireUtf8(text, "the prompt");
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::kInternal, "nothing was refused");
}

TEST(Utf8Test, FindsTheFirstByteThatIsNotUtf8) {
  for (const char* good :
       {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(InvalidUtf8Offset(good), std::string_view::npos) << good;
  }
  // Continuation alone, truncated, overlong, surrogate, beyond U+10FFFF, never valid.
  for (const char* bad :
       {"a\x80", "a\xE2\x82", "a\xC0\x80", "a\xE0\x80\x80", "a\xED\xA0\x80", "a\xF4\x90\x80\x80", "a\xFF"}) {
    EXPECT_EQ(InvalidUtf8Offset(bad), 1u) << bad;
  }
}

TEST(Utf8Test, NamesTheByteThatIsNotUtf8) {
  const Error error = ErrorOf("ok\nno\xFF");
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message(), "the prompt is not UTF-8: byte 0xff at line 2, column 3 (offset 5)");
  EXPECT_NE(error.remedy().find("if it is Latin-1, for example, with: iconv -f LATIN1 -t UTF-8"), std::string::npos);
}

TEST(Utf8Test, NamesTheEncodingOfAByteOrderMark) {
  EXPECT_NE(ErrorOf("\xFF\xFEh\0i\0"sv).remedy().find("iconv -f UTF-16 -t UTF-8"), std::string::npos);
  EXPECT_NE(ErrorOf("\xFE\xFF\0h\0i"sv).remedy().find("iconv -f UTF-16 -t UTF-8"), std::string::npos);
  EXPECT_NE(ErrorOf("\xFF\xFE\0\0h\0\0\0"sv).remedy().find("iconv -f UTF-32 -t UTF-8"), std::string::npos);
  EXPECT_NE(ErrorOf("\0\0\xFE\xFF\0\0\0h"sv).remedy().find("iconv -f UTF-32 -t UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace mconnect
