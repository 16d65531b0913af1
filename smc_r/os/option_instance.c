/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* option_instance: the number of a run directory's BPF program. */
#include "smc_r/os/option_instance.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define FNV_BASIS 2166136261u /* FNV-1a, 32 bits */
#define FNV_PRIME 16777619u

static uint32_t hash(uint32_t h, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)bytes[i]) * FNV_PRIME;
	return h;
}

/*
 * Takes the parts of the path from the last to the first: a ".." then says how
 * many of the parts to come are cancelled, and no buffer is needed.
 */
int option_instance(const char *rundir, uint32_t *out)
{
	uint32_t h = FNV_BASIS;
	const char *end;
	unsigned cancelled = 0;

	if (!rundir || rundir[0] != '/')
		return -EINVAL;
	end = rundir + strlen(rundir);
	while (end > rundir) {
		const char *part = end;
		size_t length;

		while (part > rundir && part[-1] != '/')
			part--;
		length = (size_t)(end - part);
		end = part > rundir ? part - 1 : rundir;
		if (length == 0 || (length == 1 && part[0] == '.'))
			continue;
		if (length == 2 && part[0] == '.' && part[1] == '.')
			cancelled++;
		else if (cancelled)
			cancelled--;
		else
			h = hash(hash(h, "/", 1), part, length);
	}
	h &= INT32_MAX;
	*out = h ? h : 1;
	return 0;
}
