#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>

BrimResult fail(BrimError *error, BrimResult result, const char *format, ...) {
    if (error) {
        error->result = result;
        va_list args;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return result;
}
