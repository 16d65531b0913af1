/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rundir: where commands and engines of one host meet. */
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

static const char digit[] = "0123456789abcdef";

char *rundir_user(char *out, uint32_t number, const char *part)
{
	for (int i = RUNDIR_USER_DIGITS; i-- > 0;)
		*out++ = digit[number >> (4 * i) & 15];
	*out = '\0';
	if (!part)
		return out;
	*out++ = '/';
	while (*part)
		*out++ = *part++;
	*out = '\0';
	return out;
}

bool rundir_user_decode(const char *name, uint32_t *number)
{
	uint32_t n = 0;

	if (strlen(name) != RUNDIR_USER_DIGITS)
		return false;
	for (int i = 0; i < RUNDIR_USER_DIGITS; i++) {
		const char *found = strchr(digit, name[i]);

		if (!found)
			return false;
		n = n << 4 | (uint32_t)(found - digit);
	}
	*number = n;
	return true;
}

const char *rundir_refused(void)
{
	const char *path = secure_getenv(RUNDIR_VARIABLE);

	return path && path[0] && path[0] != '/' ? path : NULL;
}
