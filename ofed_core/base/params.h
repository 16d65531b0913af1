/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * params: the values of the parameters that hold in this core now.
 *
 * Locking: each value is atomic; readers take one when they need it.
 */
#ifndef OFED_CORE_PARAMS_H
#define OFED_CORE_PARAMS_H

#include "ofed_core/base/parameters.h"

long param(enum parameter_id id);
/* All of them; a change beside it may be seen in part. */
void params_get(struct parameters *out);
void params_put(const struct parameters *p);

#endif
