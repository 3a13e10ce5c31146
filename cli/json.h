// Finding a member in JSON text.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// The value of a member of the object that `text` holds, as the span [*value, *value + *length)
/// of the text. False when the text is no object or has no such member.
bool json_member(const char *text, const char *name, const char **value, size_t *length);
