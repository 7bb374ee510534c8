/* Included in front of every file when clang-tidy looks at it: its analyzer sees one file at a time and would
 * otherwise follow paths on which a function that fails returns success. */
#ifndef SUMI_TOOLS_LINT_STATUS_H
#define SUMI_TOOLS_LINT_STATUS_H

#include "base/status.h"

#define sumi_fail(err, status, ...) (sumi_fail(err, status, __VA_ARGS__), (status))
#define sumi_fail_prefix(err, status, ...) (sumi_fail_prefix(err, status, __VA_ARGS__), (status))

#endif
