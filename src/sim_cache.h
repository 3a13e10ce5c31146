#pragma once
#include "bodies/store.h"
#include "brim/brim.h"

/// All that decides the pre-computation of a body.
BodyKey body_key(const BrimSimDef *def, const BrimBodyDef *body);

/// BodyStore's calls for a folder, whose name is the context.
uint8_t *cache_get(void *folder, const BodyKey *key, size_t *size);
void cache_put(void *folder, const BodyKey *key, const uint8_t *bytes, size_t size);
