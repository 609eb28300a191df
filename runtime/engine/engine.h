// The contract between Model Connect and an engine: what executes a module. A table of C functions, so that an engine
// may live in a library that was compiled apart from the runtime.
//
// * A function that can fail returns 0, or one of mconnect::ErrorCode's values; last_error() then has the message of
// the
//   calling thread. No exception crosses the table.
// * Strings are UTF-8 and NUL-terminated. What an engine hands out lives as long as the object it came from.
// * devices(), variant_* and io_* may be called from any threads at once. A context belongs to one thread at a time;
// contexts
//   of one variant may run at once.
// * Dtypes are the values of mconnect::DType. Tensors are dense, row-major, in host memory.
// * `struct_size` and `abi`: later versions only append to structs; a reader never touches a field beyond
// `struct_size`.
#ifndef MCONNECT_ENGINE_ENGINE_H_
#define MCONNECT_ENGINE_ENGINE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MC_ENGINE_ABI 1u
#define MC_ENGINE_MAX_RANK 8

typedef struct mc_engine_variant mc_engine_variant;  // an opened artifact, ready to make contexts
typedef struct mc_engine_context mc_engine_context;  // one line of execution: bindings and state

typedef struct mc_engine_device {
  const char* id;           // "cpu", "gpu:0"
  const char* description;  // "AMD EPYC 9654", for people
  int32_t available;        // 0: `reason` says why not
  const char* reason;       // "" where available
} mc_engine_device;

typedef struct mc_engine_option {
  const char* key;
  const char* value;
} mc_engine_option;

// What to open. Nothing in here is kept after variant_close(); `weights` must stay mapped until then.
typedef struct mc_engine_source {
  size_t struct_size;
  const char* label;     // for messages: "module 'encoder', variant 'modules/encoder/openvino.xml'"
  const char* artifact;  // path of the artifact
  const void* weights;   // the mapped weights file; NULL where the variant has none
  size_t weights_size;
  // Whether `weights` is a read-only mapping of a file, so that an engine may tell the system that it has read a part
  // and does not need it in memory now (MADV_DONTNEED).
  int32_t weights_are_mapped;
  const char* device;  // an id that devices() gives
  // "precision": "f32" | "bf16". "threads": "0" (the engine's choice) or more. An unknown key or value is an error.
  const mc_engine_option* options;
  size_t option_count;
} mc_engine_source;

typedef struct mc_engine_port {
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t shape[MC_ENGINE_MAX_RANK];  // -1: any
} mc_engine_port;

typedef struct mc_engine_tensor {
  int32_t dtype;
  int32_t rank;
  int64_t shape[MC_ENGINE_MAX_RANK];
  void* data;
} mc_engine_tensor;

typedef struct mc_engine_api {
  uint32_t abi;                  // MC_ENGINE_ABI
  uint32_t struct_size;          // sizeof(mc_engine_api)
  const char* name;              // "openvino": the name that manifests use
  const char* (*version)(void);  // "2026.4.1"; "" when the engine cannot be loaded

  // The devices that this engine knows, usable or not. The list lives as long as the process.
  int32_t (*devices)(const mc_engine_device** devices, size_t* count);

  int32_t (*variant_open)(const mc_engine_source* source, mc_engine_variant** variant);
  void (*variant_close)(mc_engine_variant* variant);  // after its contexts; NULL does nothing

  // The arithmetic that the variant got: "f32" where "bf16" was asked for and the device has none.
  const char* (*variant_precision)(const mc_engine_variant* variant);

  // Inputs and outputs are numbered from 0, each in the artifact's order.
  int32_t (*io_count)(const mc_engine_variant* variant, size_t* inputs, size_t* outputs);
  int32_t (*input_port)(const mc_engine_variant* variant, size_t index, mc_engine_port* port);
  int32_t (*output_port)(const mc_engine_variant* variant, size_t index, mc_engine_port* port);

  int32_t (*context_create)(mc_engine_variant* variant, mc_engine_context** context);
  void (*context_free)(mc_engine_context* context);  // NULL does nothing

  // Binds memory of the caller, which stays valid through the runs that use it. The engine reads inputs in place. A
  // bound output must have the shape that the run gives; an output that is not bound goes into memory of the context.
  // `tensor` NULL (outputs only) takes a binding back.
  int32_t (*bind_input)(mc_engine_context* context, size_t index, const mc_engine_tensor* tensor);
  int32_t (*bind_output)(mc_engine_context* context, size_t index, const mc_engine_tensor* tensor);

  int32_t (*run)(mc_engine_context* context);

  // Shape and memory of an output of the last run; valid until the context is used again. An error where there was no
  // run, or the last one failed.
  int32_t (*output)(mc_engine_context* context, size_t index, mc_engine_tensor* tensor);

  // Empties the state (key/value caches). Does nothing where there is none.
  int32_t (*reset)(mc_engine_context* context);

  const char* (*last_error)(void);  // of the calling thread; valid until its next call
} mc_engine_api;

// The one symbol that a plugin exports, as "mc_engine_entry". NULL when it cannot serve that version.
typedef const mc_engine_api* (*mc_engine_entry_fn)(uint32_t abi);

#ifdef __cplusplus
}
#endif

#endif  // MCONNECT_ENGINE_ENGINE_H_
