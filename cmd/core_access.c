/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* core_access: the RDMA core, for commands that ask it. */
#include "core_access.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ofed_core/base/control.h"
#include "ofed_core/base/ofed_rundir.h"

#include "cure.h"

const char *core_namespace;

bool core_is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED;
}

int core_unreached(int error)
{
	fprintf(stderr, "ofedctrl: cannot reach " CORE " in %s: %s. %s\n",
		ofed_rundir_base(), strerror(-error),
		cure_of(error, "OFED_CORE_RUNDIR"));
	return 1;
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
		core_unreached(fd);
	return -1;
}

static void take_pid(void *owner, const char *text)
{
	sscanf(text, "pid %d", (int *)owner);
}

bool core_runs(int fd, const char *program)
{
	struct stat running, named;
	char path[64];
	int pid = 0;

	if (!program ||
	    control_call(fd, "ping", take_pid, &pid, NULL, 0) != 0 || !pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &running) != 0)
		return true;
	return stat(program, &named) == 0 && running.st_dev == named.st_dev &&
	       running.st_ino == named.st_ino;
}

int core_refused(int error, const char *words)
{
	fprintf(stderr, "ofedctrl: " CORE ": %s\n",
		*words ? words : strerror(-error));
	return 1;
}
