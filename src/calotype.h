// The public language in one header: Func, Var, Expr, RDom, Buffer, Param, Pipeline, Generator ...
#pragma once

#include "base/diagnostic.h"
#include "base/target.h"
#include "driver/callable.h"
#include "driver/generator.h"
#include "driver/pipeline.h"
#include "lang/buffer.h"
#include "lang/expr.h"
#include "lang/extern.h"
#include "lang/float16.h"
#include "lang/func.h"
#include "lang/later.h"
#include "lang/param.h"
#include "lang/prelude.h"
#include "lang/rdom.h"
#include "lang/tuple.h"
#include "lang/var.h"
