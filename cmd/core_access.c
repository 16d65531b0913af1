/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* core_access: the RDMA core, for commands that ask it. */
#include "core_access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ofed_core/base/control.h"

const char *core_namespace;

bool core_is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

int core_open(void)
{
	int fd = control_open(core_namespace);

	if (fd >= 0)
		return fd;
	if (core_is_absent(fd))
		fprintf(stderr,
			"ofedctrl: " CORE " is not loaded; load it with "
			"ofedctrl -l\n");
	else
		fprintf(stderr, "ofedctrl: cannot reach " CORE ": %s\n",
			strerror(-fd));
	return -1;
}

int core_refused(int error, const char *words)
{
	fprintf(stderr, "ofedctrl: " CORE ": %s\n",
		*words ? words : strerror(-error));
	return 1;
}
