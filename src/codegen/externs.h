// The C functions that compiled code may call, by name, with their types taken from runtime.h. Internal.
#pragma once

#include "../base/type.h"

#include <string>
#include <vector>

namespace calotype::codegen {

struct ExternFunction {
  const char *name;
  const char *object_name;  ///< its published name in the ahead-of-time runtime
  bool takes_context;       ///< the user context comes first, and is not among `params`
  Type result;
  std::vector<Type> params;  ///< C strings and pointers are handles
};

/// Null if compiled code must not call it.
const ExternFunction *find_extern(const std::string &name);

}  // namespace calotype::codegen
