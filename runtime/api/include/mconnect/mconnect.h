// Model Connect's C++ interface, whole.
#ifndef MCONNECT_MCONNECT_H_
#define MCONNECT_MCONNECT_H_

#include "mconnect/dtype.h"
#include "mconnect/error.h"
#include "mconnect/log.h"
#include "mconnect/model.h"
#include "mconnect/module.h"
#include "mconnect/tensor.h"
#include "mconnect/text_embedding.h"
#include "mconnect/text_generation.h"

#endif  // MCONNECT_MCONNECT_H_
