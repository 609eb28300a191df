#include "runtime/base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "mconnect/error.h"

namespace mconnect {
namespace {

void Require(bool success) {
  if (!success) throw Error(ErrorCode::kInternal, "OpenSSL's SHA-256 failed");
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  Require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(std::span<const std::byte> data) {
  Require(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1);
}

std::string Sha256::Hex() {
  std::array<unsigned char, 32> digest;
  Require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string Sha256Hex(std::string_view data) {
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(data)));
  return sha.Hex();
}

bool IsSha256Hex(std::string_view text) noexcept {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace mconnect
