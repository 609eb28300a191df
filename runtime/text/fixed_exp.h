// The exponential function in integers: the same bits on every machine, with every compiler and its options.
#ifndef MCONNECT_TEXT_FIXED_EXP_H_
#define MCONNECT_TEXT_FIXED_EXP_H_

#include <array>
#include <cstdint>

namespace mconnect {
namespace fixed_exp_internal {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

constexpr std::uint64_t kOne = std::uint64_t{1} << 62;  // 1 with 62 fraction bits

constexpr std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(Wide{a} * b >> 62);
}

// 2^(i/256), 62 fraction bits.
inline constexpr std::array<std::uint64_t, 256> kPowers = [] {
  // 2^(1/2), 2^(1/4), ..., 2^(1/256).
  constexpr std::uint64_t kRoots[8] = {0x5A827999FCEF3242, 0x4C1BF828C6DC54B8, 0x45CAE0F1F545EB73, 0x42D561B3E6243D8A,
                                       0x4166C34C5615D0EC, 0x40B268F9DE0183BA, 0x4058F6A7ECCCD5B6, 0x402C6BE96AF2FB58};
  std::array<std::uint64_t, 256> powers{};
  for (unsigned i = 0; i < 256; ++i) {
    powers[i] = kOne;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (i & (0x80u >> bit)) powers[i] = Times(powers[i], kRoots[bit]);
    }
  }
  return powers;
}();

}  // namespace fixed_exp_internal

inline constexpr int kFixedExpBits = 40;  // fraction bits of FixedExp()

// e^x for x <= 0 with 40 fraction bits, rounded down: 2^40 for 0, and 0 below about -27.7. The relative error from x,
// which is first rounded to 2^-32, is below 2^-32.
inline std::uint64_t FixedExp(double x) {
  using namespace fixed_exp_internal;
  if (!(x > -64)) return 0;
  if (x >= 0) return std::uint64_t{1} << kFixedExpBits;
  const auto q = static_cast<std::int64_t>(x * 0x1p32);                    // a product with a power of two is exact
  constexpr std::int64_t kLog2E = 0x5C551D94AE0BF85E;                      // log2(e), 62 fraction bits
  const auto y = static_cast<std::int64_t>(SignedWide{q} * kLog2E >> 62);  // x·log2(e), 32 fraction bits
  const std::int64_t whole = y >> 32;                                      // rounded down: y = whole + rest, rest >= 0
  const auto rest = static_cast<std::uint64_t>(y & 0xFFFFFFFF);
  // 2^rest = 2^(high/256)·e^t with t < ln(2)/256; four terms of e^t leave less than 2^-42.
  constexpr std::uint64_t kLn2 = 0x2C5C85FDF473DE6B;  // ln(2), 62 fraction bits
  const std::uint64_t t = Times((rest & 0xFFFFFF) << 30, kLn2);
  const std::uint64_t t2 = Times(t, t);
  const std::uint64_t series = kOne + t + t2 / 2 + Times(t2, t) / 6 + Times(t2, t2) / 24;
  const std::uint64_t power = Times(kPowers[rest >> 24], series);  // in [1, 2)
  const std::int64_t shift = 62 - kFixedExpBits - whole;
  return shift < 64 ? power >> shift : 0;
}

}  // namespace mconnect

#endif  // MCONNECT_TEXT_FIXED_EXP_H_
