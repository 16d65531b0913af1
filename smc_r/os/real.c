/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* real: the C library's own functions, below the ones that we replace. */
#include "smc_r/os/real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "smc_r/os/engines.h"
#include "smc_r/os/sys.h"

#define KERNEL_SIGSET_BYTES 8

/* A bare system call with libc's way to report errors. */
static long libc_result(long result)
{
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

/* Up to six arguments; what is left over is cut off. */
#define BARE(...) BARE_OF(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define BARE_OF(n, a, b, c, d, e, f, ...)                                      \
	libc_result(SYS_CALL6(n, a, b, c, d, e, f))

/* ---- calls with the parameters of libc's function ---- */

#define PARAMETERS1(A)                A a
#define PARAMETERS2(A, B)             PARAMETERS1(A), B b
#define PARAMETERS3(A, B, C)          PARAMETERS2(A, B), C c
#define PARAMETERS4(A, B, C, D)       PARAMETERS3(A, B, C), D d
#define PARAMETERS5(A, B, C, D, E)    PARAMETERS4(A, B, C, D), E e
#define PARAMETERS6(A, B, C, D, E, F) PARAMETERS5(A, B, C, D, E), F f
#define ARGUMENTS1                    a
#define ARGUMENTS2                    a, b
#define ARGUMENTS3                    a, b, c
#define ARGUMENTS4                    a, b, c, d
#define ARGUMENTS5                    a, b, c, d, e
#define ARGUMENTS6                    a, b, c, d, e, f

#define BARE_CALL(count, result, name, ...)                                    \
	static result bare_##name(PARAMETERS##count(__VA_ARGS__))              \
	{                                                                      \
		return (result)BARE(SYS_##name, ARGUMENTS##count);             \
	}

REAL_CALLS(BARE_CALL)

/* ---- calls with others ---- */

/* The kernel takes a 64-bit offset in two halves; the upper one is 0 or -1. */
static ssize_t bare_preadv2(int fd, const struct iovec *v, int n, off_t at,
			    int flags)
{
	return BARE(SYS_preadv2, fd, v, n, at, at >> 63, flags);
}

static ssize_t bare_pwritev2(int fd, const struct iovec *v, int n, off_t at,
			     int flags)
{
	return BARE(SYS_pwritev2, fd, v, n, at, at >> 63, flags);
}

/* The kernel writes the time left back; libc's callers never see that. */
static int bare_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t,
		      const sigset_t *mask)
{
	struct timespec copy;

	if (t)
		copy = *t;
	return (int)BARE(SYS_ppoll, p, n, t ? &copy : NULL, mask,
			 KERNEL_SIGSET_BYTES);
}

static int bare_pselect(int n, fd_set *r, fd_set *w, fd_set *x,
			const struct timespec *t, const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t bytes;
	} m = {mask, KERNEL_SIGSET_BYTES};
	struct timespec copy;

	if (t)
		copy = *t;
	return (int)BARE(SYS_pselect6, n, r, w, x, t ? &copy : NULL, &m);
}

static int bare_epoll_pwait(int ep, struct epoll_event *e, int n, int ms,
			    const sigset_t *mask)
{
	return (int)BARE(SYS_epoll_pwait, ep, e, n, ms, mask,
			 KERNEL_SIGSET_BYTES);
}

static int bare_epoll_pwait2(int ep, struct epoll_event *e, int n,
			     const struct timespec *t, const sigset_t *mask)
{
	return (int)BARE(SYS_epoll_pwait2, ep, e, n, t, mask,
			 KERNEL_SIGSET_BYTES);
}

static int bare_fcntl(int fd, int command, ...)
{
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	return (int)BARE(SYS_fcntl, fd, command, argument);
}

static int bare_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	long argument;

	va_start(ap, request);
	argument = va_arg(ap, long);
	va_end(ap);
	return (int)BARE(SYS_ioctl, fd, request, argument);
}

static int bare_prctl(int option, ...)
{
	va_list ap;
	long a[4];

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return (int)BARE(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static int bare_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)BARE(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int bare_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)BARE(SYS_openat, dir, path, flags, mode);
}

static int bare_creat(const char *path, mode_t mode)
{
	return (int)BARE(SYS_openat, AT_FDCWD, path,
			 O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int bare_inotify_init(void)
{
	return (int)BARE(SYS_inotify_init1, 0);
}

static int bare_pipe(int *ends)
{
	return (int)BARE(SYS_pipe2, ends, 0);
}

static int bare_eventfd(unsigned count, int flags)
{
	return (int)BARE(SYS_eventfd2, count, flags);
}

static int bare_signalfd(int fd, const sigset_t *mask, int flags)
{
	return (int)BARE(SYS_signalfd4, fd, mask, KERNEL_SIGSET_BYTES, flags);
}

static long bare_syscall(long number, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return BARE(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define BARE_ENTRY(count, result, name, ...) .name = bare_##name,

struct real real = {REAL_CALLS(BARE_ENTRY)
			REAL_CALLS_OF_OTHER_FORM(BARE_ENTRY)};

/* A function that this libc lacks keeps its bare system call. */
static void look_up(const char *name, void *entry)
{
	void *found = engines_next(name);

	if (found)
		memcpy(entry, &found, sizeof(found));
}

#define LOOK_UP(count, result, name, ...) look_up(#name, &real.name);

void real_init(void)
{
	REAL_CALLS(LOOK_UP)
	REAL_CALLS_OF_OTHER_FORM(LOOK_UP)
	REAL_FUNCTIONS(LOOK_UP)
}
