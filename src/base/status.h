/* Errors: how a function below apps/ says that, and why, it failed. */
#ifndef SUMI_BASE_STATUS_H
#define SUMI_BASE_STATUS_H

#include "sumi_kernels.h"

/* Fill err (may be NULL) with a formatted line and return status. Control bytes in the text (from hostile
 * files) are replaced by '?', and it is cut to fit. */
__attribute__((format(printf, 3, 4))) sumi_status sumi_fail(sumi_error *err, sumi_status status, const char *fmt,
                                                            ...);

/* Put "PREFIX: " in front of the message already in err; returns err's status unchanged. */
__attribute__((format(printf, 3, 4))) sumi_status sumi_fail_prefix(sumi_error *err, sumi_status status,
                                                                   const char *fmt, ...);

#endif
