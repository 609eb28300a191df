// SHA-256 (FIPS 180-4).
#ifndef MCONNECT_BASE_SHA256_H_
#define MCONNECT_BASE_SHA256_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace mconnect {

class Sha256 {
 public:
  Sha256();
  void Update(std::span<const std::byte> data);

  // 64 lower-case hex digits. Call it once, last.
  std::string Hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string Sha256Hex(std::string_view data);

// True for 64 lower-case hex digits.
bool IsSha256Hex(std::string_view text) noexcept;

}  // namespace mconnect

#endif  // MCONNECT_BASE_SHA256_H_
