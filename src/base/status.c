#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* File names and keys end up in messages: no byte of them may move a terminal's cursor or break the line. */
static void make_printable(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?';
}

sumi_status sumi_fail(sumi_error *err, sumi_status status, const char *fmt, ...)
{
    if (!err) return status;
    err->status = status;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    make_printable(err->message);
    return status;
}

sumi_status sumi_fail_prefix(sumi_error *err, sumi_status status, const char *fmt, ...)
{
    if (!err) return status;
    char prefixed[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(prefixed, sizeof prefixed, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n + 2 < sizeof prefixed) {
        memcpy(prefixed + n, ": ", 2);
        const size_t room = sizeof prefixed - (size_t)n - 3, length = strlen(err->message);
        const size_t kept = length < room ? length : room;
        memcpy(prefixed + n + 2, err->message, kept);
        prefixed[(size_t)n + 2 + kept] = 0;
        make_printable(prefixed);
        memcpy(err->message, prefixed, sizeof err->message);
    }
    err->status = status;
    return status;
}

const char *sumi_status_name(sumi_status status)
{
    switch (status) {
    case SUMI_OK:
        return "ok";
    case SUMI_EINVAL:
        return "invalid argument";
    case SUMI_ENOMEM:
        return "out of memory";
    case SUMI_EIO:
        return "input/output error";
    case SUMI_EFORMAT:
        return "bad format";
    case SUMI_EUNSUPPORTED:
        return "not supported";
    case SUMI_EDEVICE:
        return "device error";
    case SUMI_ELIMIT:
        return "limit exceeded";
    case SUMI_ECANCELLED:
        return "cancelled";
    case SUMI_ENUMERIC:
        return "not a finite number";
    }
    return "unknown status";
}
