/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* place: where the predefined stanzas are. */
#include "place.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the stanzas are when the executable's directory looks like this. */
static const struct {
	const char *pattern, *from_there;
} beside[] = {
    {"*/build/bin", "../../conf"},
    {"*/build/[!/]*/bin", "../../../conf"}, /* a flavour */
    {"*/lib/smc_r/bin", "../../../share/smc_r"},
    {"*/sbin", "../share/smc_r"},
    {"*/bin", "../share/smc_r"},
};

static bool find_beside(const char *name, char *out, size_t size)
{
	char dir[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (length < 0)
		return false;
	dir[length] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		int n;

		if (fnmatch(beside[i].pattern, dir, 0) != 0)
			continue;
		n = snprintf(out, size, "%s/%s/%s", dir, beside[i].from_there,
			     name);
		if (n > 0 && (size_t)n < size && access(out, F_OK) == 0)
			return true;
	}
	return false;
}

int place_stanza(const char *name, char *out, size_t size)
{
	const char *dir = secure_getenv(PLACE_CONFDIR_VARIABLE);
	int n;

	if (!dir || !dir[0])
		return find_beside(name, out, size) ? 0 : -ENOENT;
	n = snprintf(out, size, "%s/%s", dir, name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
