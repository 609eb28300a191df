// strftime, as Python's datetime has it for a time without a zone.

#include <locale.h>
#include <time.h>

#include <string>

#include "runtime/text/template/environment.h"

namespace mconnect::jinja {
namespace {

std::tm ToTm(LocalTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  const std::chrono::local_days first{date.year() / std::chrono::January / 1};
  std::tm tm = {};
  tm.tm_year = static_cast<int>(date.year()) - 1900;
  tm.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  tm.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
  tm.tm_hour = static_cast<int>(clock.hours().count());
  tm.tm_min = static_cast<int>(clock.minutes().count());
  tm.tm_sec = static_cast<int>(clock.seconds().count());
  tm.tm_wday = static_cast<int>(std::chrono::weekday(day).c_encoding());
  tm.tm_yday = static_cast<int>((day - first).count());
  tm.tm_isdst = -1;
  return tm;
}

// The C locale, whatever the program has set.
locale_t CLocale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

}  // namespace

std::string FormatTime(std::string_view format, LocalTime time) {
  if (format.find('\0') != format.npos) Fail("strftime_now: embedded null character");
  std::string plain;  // what Python replaces before it asks the C library
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      plain += format[i];
      continue;
    }
    const char directive = format[++i];
    if (directive == 'f') {
      const auto micros = (time - std::chrono::floor<std::chrono::seconds>(time)).count();
      const std::string digits = std::to_string(micros);
      plain += std::string(6 - digits.size(), '0') + digits;
    } else if (directive != 'z' && directive != 'Z') {  // no zone: nothing
      plain += '%';
      plain += directive;
    }
  }
  if (plain.empty()) return plain;
  const std::tm tm = ToTm(time);
  std::string result(plain.size() * 4 + 64, '\0');
  plain += '.';  // so that an empty result differs from one that does not fit
  for (std::size_t size = 0;;) {
    size = strftime_l(result.data(), result.size(), plain.c_str(), &tm, CLocale());
    if (size > 0) {
      result.resize(size - 1);
      return result;
    }
    if (result.size() > plain.size() * 1024) Fail("strftime_now: the format gives too long a text");
    result.resize(result.size() * 4);
  }
}

}  // namespace mconnect::jinja
