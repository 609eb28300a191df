// Fuzzing of whatever reads bytes that a stranger may have written.
//
// A target is a `<name>_fuzz.cc` with libFuzzer's LLVMFuzzerTestOneInput and LLVMFuzzerCustomMutator, and Seeds().
// Linked with fuzz_driver.cc it is a program for any compiler; linked with -fsanitize=fuzzer instead, it is
// libFuzzer's.
#ifndef MCONNECT_BASE_TESTING_FUZZING_H_
#define MCONNECT_BASE_TESTING_FUZZING_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Runs the target on one input. Throws nothing: mconnect::Error is caught where it is a fair answer, and whatever else
// leaves it is a finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Changes the `size` bytes of `data`, which has room for `capacity`. Returns the new size.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned int seed);

namespace mconnect::fuzzing {

using Random = std::mt19937_64;

// Defined by the target: inputs that are good, and between them reach every part of what it tests.
const std::vector<std::string>& Seeds();

// The target calls it for an input that it could read. The driver counts, and refuses a seed without.
void Accept();
std::size_t accepted();

// An input of several parts: they are joined by the byte 0xFF, which no UTF-8 text has. There are always `count`
// results; parts that the input lacks are empty, and the last one has all the rest.
inline constexpr char kSeparator = '\xFF';
std::vector<std::string_view> Parts(std::string_view input, std::size_t count);

// Makes the values of an input's JSON documents known to MutateJson(). The driver does so with what it begins with.
void Learn(std::string_view input);

// A number below `limit`, which is not 0.
std::size_t Below(std::size_t limit, Random& random);

// `text` with one small change to its bytes: bits, ranges, numbers, odd pieces of Unicode.
std::string MutateBytes(std::string text, Random& random);

// A JSON document with one change to its tree: values swapped, moved, deleted, repeated, replaced by others of the tree
// or by those that it learned under the same key, by extreme numbers, deep nests, huge or odd strings. Text that is no
// JSON is mutated by bytes.
std::string MutateJson(std::string_view document, Random& random);

// One to eight such changes to an input of Parts(): the JSON documents by trees and now and then by bytes, the rest by
// bytes and by strings of the documents.
std::string Mutate(std::string_view input, Random& random);

// LLVMFuzzerCustomMutator in terms of Mutate().
std::size_t MutateInPlace(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned int seed);

}  // namespace mconnect::fuzzing

#endif  // MCONNECT_BASE_TESTING_FUZZING_H_
