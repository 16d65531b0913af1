/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rundir.h"

#include <stdlib.h>
#include <string.h>

/* Kept from the first call on: programs overwrite their environment (nginx,
 * for its title), and must not change sides by that. */
const char *rundir_path(void)
{
	static char kept[512];
	const char *path;

	if (kept[0] != '\0')
		return kept;
	path = secure_getenv(RUNDIR_VARIABLE);
	if (!path || path[0] != '/' || strlen(path) >= sizeof(kept))
		path = RUNDIR_DEFAULT;
	strcpy(kept, path);
	return kept;
}

const char *rundir_refused(void)
{
	const char *path = secure_getenv(RUNDIR_VARIABLE);

	return path && path[0] && path[0] != '/' ? path : NULL;
}
