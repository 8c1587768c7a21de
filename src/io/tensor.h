// Arrays without a colour meaning: NumPy's .npy and raw samples. load() and save() in image.h also
// read and write .npy; raw needs to be told what it holds.
//
// NumPy's shape lists the outermost dimension first (C order), extents the innermost: an array of shape
// (channels, height, width) loads as [width, height, channels].
#pragma once

#include "io/image.h"

#include <string>
#include <vector>

namespace calotype::io {

/// Reads samples in the machine's byte order; the file must have exactly the size these need.
Array load_raw(const std::string &path, halide_type_t type, const std::vector<int> &extents);

}  // namespace calotype::io
