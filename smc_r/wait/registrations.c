/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* registrations: what is registered in an epoll instance. */
#include "smc_r/wait/registrations.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "smc_r/os/sys.h"
#include "smc_r/protocol/text.h"

#define LINE_MAX_BYTES 256

static void path_of(char *out, int ep)
{
	text_put_number(text_put(out, "/proc/self/fdinfo/"), (uint64_t)ep);
}

/* "tfd:        5 events:       19 data:  5  pos:0 ino:61af sdev:7" */
static bool parse(const char *line, int fd, struct epoll_event *out)
{
	const char *events = strstr(line, "events:");
	const char *data = strstr(line, "data:");

	if (strncmp(line, "tfd:", 4) != 0 || !events || !data ||
	    strtol(line + 4, NULL, 10) != fd)
		return false;
	out->events = (uint32_t)strtoul(events + 7, NULL, 16);
	out->data.u64 = strtoull(data + 5, NULL, 16);
	return true;
}

bool registrations_find(int ep, int fd, struct epoll_event *out)
{
	char buffer[4096];
	char line[LINE_MAX_BYTES];
	size_t length = 0;
	bool found = false;
	char path[48];
	long in;
	long n;

	path_of(path, ep);
	in = SYS_CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (in < 0)
		return false;
	while (!found &&
	       (n = SYS_CALL3(SYS_read, in, buffer, sizeof(buffer))) > 0)
		for (long i = 0; i < n && !found; i++) {
			if (buffer[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = buffer[i];
				continue;
			}
			line[length] = '\0';
			length = 0;
			found = parse(line, fd, out);
		}
	sys_close((int)in);
	return found;
}
