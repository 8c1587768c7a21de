// Numbers of schedules as text: in schedule files, and in C++.
#pragma once

#include <functional>
#include <string>

#include "../ir/nodes.h"

namespace calotype::schedule {

enum class ValueStyle { Schedule, Cpp };
/// `name`: how a bare name is written; empty: as it is.
CALO_EXPORT std::string value_text(
    const Expr &e, ValueStyle style,
    const std::function<std::string(const std::string &)> &name = {});

}  // namespace calotype::schedule
