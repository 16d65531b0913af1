/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_engine: the engines that programs have although nobody names one now.
 */
#include "run_engine.h"

#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "run_library.h"

/* The next engine of the loader's list, from m on. */
static const struct link_map *engine_from(const struct link_map *m)
{
	for (; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/');

		if (slash && strcmp(slash + 1, RUN_LIBRARY_NAME) == 0)
			return m;
	}
	return NULL;
}

bool run_engine_first(char out[PATH_MAX])
{
	const struct link_map *m = engine_from(_r_debug.r_map);

	return m && realpath(m->l_name, out);
}

bool run_engine_of_host(void)
{
	const struct link_map *m = engine_from(_r_debug.r_map);
	const char *list = getenv(RUN_LIBRARY_LIST);

	while (m && list && run_library_is_listed(list, m->l_name))
		m = engine_from(m->l_next);
	return m;
}

bool run_engine_is_beside(const char *library)
{
	const struct link_map *m = engine_from(_r_debug.r_map);
	char path[PATH_MAX];

	for (; m; m = engine_from(m->l_next))
		if (realpath(m->l_name, path) && strcmp(path, library) != 0)
			return true;
	return false;
}
