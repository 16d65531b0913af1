/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * params: the values of the parameters that hold in this core now.
 */
#include "ofed_core/base/params.h"

#include <stdatomic.h>

#include "ofed_core/base/log.h"

static atomic_long values[PARAMETER_COUNT];

long param(enum parameter_id id)
{
	return atomic_load_explicit(&values[id], memory_order_relaxed);
}

void params_get(struct parameters *out)
{
	for (int i = 0; i < PARAMETER_COUNT; i++)
		out->value[i] = param((enum parameter_id)i);
}

void params_put(const struct parameters *p)
{
	for (int i = 0; i < PARAMETER_COUNT; i++)
		atomic_store(&values[i], p->value[i]);
	log_level_set(p->value[PARAMETER_RAS_LOG_LEVEL]);
}
