// The tables of directives.
#include <doctest/doctest.h>

#include "schedule/directive.h"

using namespace calotype;
using namespace calotype::schedule;

TEST_CASE("directive: every available name is found and has a signature") {
  for (const std::string &name : directive_names()) {
    DirectiveKind kind;
    REQUIRE(find_directive(name, &kind));
    CHECK(directive_name(kind) == name);
    CHECK(is_available(kind));
    CHECK(signature(kind).rfind(name + "(", 0) == 0);
  }
  DirectiveKind kind;
  CHECK_FALSE(find_directive("vectorise", &kind));
}

TEST_CASE("directive: parameters follow the table") {
  const auto &split = params_of(DirectiveKind::split);
  REQUIRE(split.size() == 5);
  CHECK(split[0].kind == ParamSpec::Kind::Var);
  CHECK(split[1].kind == ParamSpec::Kind::NewVar);
  CHECK(split[1].name == "outer");
  CHECK(split[3].kind == ParamSpec::Kind::Expr);
  CHECK(split[3].name == "factor");
  CHECK(split[4].kind == ParamSpec::Kind::Tail);
  CHECK(split[4].optional);
  CHECK_FALSE(is_available(DirectiveKind::gpu_tile));
}

TEST_CASE("directive: tail strategies have the names of the enumeration") {
  for (int i = 0; i <= static_cast<int>(TailStrategy::Auto); i++) {
    TailStrategy back;
    REQUIRE(find_tail(tail_name(static_cast<TailStrategy>(i)), &back));
    CHECK(static_cast<int>(back) == i);
  }
  TailStrategy tail;
  CHECK_FALSE(find_tail("Nonsense", &tail));
}
