/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rundir.h"

#include <stdlib.h>

const char *rundir_path(void)
{
	const char *path = secure_getenv(RUNDIR_VARIABLE);

	return path && path[0] == '/' ? path : RUNDIR_DEFAULT;
}
