// Experiments of the density paper that look into particles and fields: reproduce_idp_fields.c.
#pragma once
#include "reproduce.h"

void idp_stability(Result *r);
void idp_figure8(Result *r);
void idp_figure9(Result *r);
