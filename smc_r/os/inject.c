/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* inject: a call of the engine that fails, in the flavour of that name. */
#include "smc_r/os/inject.h"

#ifdef SMC_R_INJECT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "smc_r/os/sys.h"

#define PRIVATE_LEVEL 0x534d4358 /* OPTION_LEVEL */
#define KERNELS_ROOM  32u

bool inject_fails(void)
{
	static _Atomic int *left;
	const char *at;

	if (!left) {
		at = getenv("SMC_R_FAIL");
		if (!at)
			return false;
		left = (_Atomic int *)strtoul(at, NULL, 16);
	}
	return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

bool inject_is_far(void)
{
	static int is_far = -1;

	if (is_far < 0)
		is_far = getenv("SMC_R_FAR") != NULL;
	return is_far;
}

/* As the kernel would say when it has no memory, or no descriptor. */
static int error_of(long number, long second, long fifth)
{
	switch (number) {
	case SYS_openat:
	case SYS_socket:
	case SYS_pipe2:
	case SYS_memfd_create:
	case SYS_eventfd2:
	case SYS_epoll_create1:
	case SYS_accept4:
		return EMFILE;
	case SYS_fcntl:
		return second == F_DUPFD_CLOEXEC ? EMFILE : 0;
	case SYS_epoll_ctl:
		return second == EPOLL_CTL_ADD ? ENOMEM : 0;
	case SYS_getsockopt:
		/* The kernel has room of its own for short ones. */
		return second == PRIVATE_LEVEL &&
			       *(const socklen_t *)fifth > KERNELS_ROOM
			   ? ENOMEM
			   : 0;
	case SYS_setsockopt:
	case SYS_membarrier:
	case SYS_mprotect:
	case SYS_bind:
		return ENOMEM;
	case SYS_sendmsg:
	case SYS_connect:
		return ENOBUFS;
	case SYS_flock:
		return ENOLCK;
	case SYS_fallocate:
	case SYS_ftruncate:
		return ENOSPC;
	default:
		return 0;
	}
}

long inject_error(long number, long second, long fifth)
{
	int error = error_of(number, second, fifth);

	return error && inject_fails() ? -error : 0;
}

void inject_broken(const char *invariant)
{
	fprintf(stderr, "smc_r: invariant %s does not hold\n", invariant);
	abort();
}

void *__real_mmap(void *at, size_t n, int protection, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd,
		  off_t offset);

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd,
		  off_t offset)
{
	/* A mapping that takes another one's place needs no memory. */
	if (!(flags & MAP_FIXED) && inject_fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, n, protection, flags, fd, offset);
}
#endif
