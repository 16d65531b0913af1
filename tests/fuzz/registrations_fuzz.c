/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * registrations_fuzz: any text in place of /proc/self/fdinfo/N. The kernel
 * writes it, but names of files that others chose stand in it for other kinds
 * of descriptors, and its form has grown from version to version.
 *
 * Input: the number that is looked for, then the text.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "smc_r/os/sys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int text_fd = -1;

/* The file under test is taken in whole, so that its open can be turned away
 * from /proc. It makes no other call with four arguments. */
static long open_text(void)
{
	if (lseek(text_fd, 0, SEEK_SET) < 0)
		return -1;
	return fcntl(text_fd, F_DUPFD_CLOEXEC, 0);
}
#undef SYS_CALL4
#define SYS_CALL4(n, a, path, c, d) ((void)(path), open_text())
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "smc_r/wait/registrations.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct epoll_event e = {.events = 0};
	int lowest, after;

	if (size == 0)
		return 0;
	if (text_fd < 0)
		text_fd = memfd_create("fdinfo", MFD_CLOEXEC);
	if (text_fd < 0 || ftruncate(text_fd, 0) < 0 ||
	    pwrite(text_fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
		abort();
	lowest = dup(text_fd);
	close(lowest);
	if (registrations_find(7, data[0], &e)) {
		/* Only a line with all three parts can have said so. */
		if (!memmem(data, size, "tfd:", 4) ||
		    !memmem(data, size, "events:", 7) ||
		    !memmem(data, size, "data:", 5))
			abort();
	}
	after = dup(text_fd);
	close(after);
	if (after != lowest)
		abort();
	return 0;
}
