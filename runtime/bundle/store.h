// The store: the content-addressed folder that bundles are unpacked into, once per blob.
#ifndef MCONNECT_BUNDLE_STORE_H_
#define MCONNECT_BUNDLE_STORE_H_

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace mconnect {

// What an engine opens.
struct VariantFiles {
  std::filesystem::path artifact;
  std::filesystem::path weights;  // empty when the variant has none
};

// Blobs are files <folder>/blobs/<sha256>, mode 0444. A blob appears by rename after its digest was checked and its
// bytes were synced, so a name that exists is complete whatever crashed. Any number of processes and threads may share
// a store: a blob that one of them is writing, the others wait for; when the writer dies, one of them starts again.
//
// A blob is trusted by name and size. Damage that keeps the size is found by Verify(), not by every load.
// Deleting any part of a store is always safe: the next load brings it back.
class Store {
 public:
  // $MCONNECT_STORE, else $XDG_CACHE_HOME/mconnect/store (ignored where it is a relative path, as its specification
  // says), else $HOME/.cache/mconnect/store.
  // Throws Error(kInvalidArgument) when none of them is set, or the one that counts is no absolute path.
  static std::filesystem::path DefaultFolder();

  // Touches nothing until something is missing.
  explicit Store(std::filesystem::path folder = DefaultFolder()) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const noexcept { return folder_; }

  // Files that hold the members, in the order asked for: the folder's own when the bundle is one, else blobs. Extracts
  // what is missing, in parallel. Throws Error: kNotFound (no such member), kCorrupt (the bundle is damaged),
  // kResourceExhausted (full disk: says what is needed and what is free), kIo (a read-only store).
  std::vector<std::filesystem::path> Materialize(const Bundle& bundle, std::span<const std::string> members) const;

  VariantFiles Materialize(const Bundle& bundle, const Variant& variant) const;

  // Reads every blob of the store, or those that `bundle` has there, and removes the ones whose digest is wrong: the
  // next load brings them back. Returns their sha256 names.
  std::vector<std::string> Verify() const;
  std::vector<std::string> Verify(const Bundle& bundle) const;

 private:
  std::vector<std::string> VerifyBlobs(const std::vector<std::filesystem::path>& blobs) const;

  std::filesystem::path folder_;
};

// Makes the folder form of a bundle. `folder` must not exist or must be empty (Error(kInvalidArgument)). It appears by
// one rename when everything is written and checked.
void Unpack(const Bundle& bundle, const std::filesystem::path& folder);

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_STORE_H_
