// Matrices in NumPy's file format.
#ifndef MCONNECT_RUNTIME_CLI_NPY_H_
#define MCONNECT_RUNTIME_CLI_NPY_H_

#include <cstdint>
#include <span>
#include <string>

namespace mconnect::cli {

// Format 1.0 of numpy.lib.format for a row-major little-endian f32 matrix: header and data.
std::string NpyBytes(std::span<const float> values, std::int64_t rows, std::int64_t columns);

// Throws Error that names the path and says why nothing can be written there: no such folder, a folder, no permission.
void RequireWritable(const std::string& path);

// Writes `bytes` to a temporary name beside `path` and renames it, so that no reader sees half a file.
// Throws Error(kIo) naming the path.
void WriteFileAtomically(const std::string& path, const std::string& bytes);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_NPY_H_
