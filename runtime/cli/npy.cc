#include "runtime/cli/npy.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "mconnect/error.h"

namespace mconnect::cli {

static_assert(std::endian::native == std::endian::little, "'<f4' below promises little-endian values");

std::string NpyBytes(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                       std::to_string(columns) + "), }";
  // Magic (6), version (2) and header length (2) come first; the data must start at a multiple of 64, after a newline.
  constexpr std::size_t kPrefix = 10;
  header.append(63 - (kPrefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return bytes;
}

void RequireWritable(const std::string& path) {
  namespace fs = std::filesystem;
  const auto fail = [&](int error, const char* remedy) {
    throw Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                "cannot write '" + path + "': " + std::strerror(error), remedy);
  };
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(EISDIR, "name a file inside it");
  if (fs::exists(status) && !fs::is_regular_file(status)) return;  // a device or a pipe
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty() && !path.empty()) folder = ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(errno, "choose a folder that exists and that you may write to");
}

void WriteFileAtomically(const std::string& path, const std::string& bytes) {
  // Renaming over a device or a pipe (/dev/stdout) would replace it.
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string temporary = special ? path : path + ".tmp" + std::to_string(::getpid());
  const auto fail = [&](int error) {
    if (!special) std::remove(temporary.c_str());
    throw Error(ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(error));
  };
  if (std::filesystem::is_directory(status)) fail(EISDIR);
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) fail(errno != 0 ? errno : EIO);
  if (!special && std::rename(temporary.c_str(), path.c_str()) != 0) fail(errno);
}

}  // namespace mconnect::cli
