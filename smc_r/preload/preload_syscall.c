/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_syscall: programs that call the kernel by number (libuv closes its
 * descriptors that way). Calls that concern us go the way of the named
 * functions; all others go through as they are.
 */
#include "smc_r/preload/preload.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "smc_r/os/process.h"
#include "smc_r/preload/engine.h"
#include "smc_r/preload/preload_aio.h"
#include "smc_r/preload/preload_limits.h"
#include "smc_r/protocol/reason.h"

/* Exported by ourselves; their headers disagree about attributes. */
int close_range(unsigned, unsigned, int);
ssize_t preadv2(int, const struct iovec *, int, off_t, int);
ssize_t pwritev2(int, const struct iovec *, int, off_t, int);
int execveat(int, const char *, char *const[], char *const[], int);
int pidfd_getfd(int, int, unsigned);

/* ---- calls that go the way of a function ---- */

/* What makes the call from its arguments, the words of `a`. */
#define BY_NUMBER(name, ...)                                                   \
	static long name##_by_number(const long *a)                            \
	{                                                                      \
		return name(__VA_ARGS__);                                      \
	}

/* The first words, as the types say. */
#define WORDS1(A)                (A) a[0]
#define WORDS2(A, B)             WORDS1(A), (B)a[1]
#define WORDS3(A, B, C)          WORDS2(A, B), (C)a[2]
#define WORDS4(A, B, C, D)       WORDS3(A, B, C), (D)a[3]
#define WORDS5(A, B, C, D, E)    WORDS4(A, B, C, D), (E)a[4]
#define WORDS6(A, B, C, D, E, F) WORDS5(A, B, C, D, E), (F)a[5]

#define CALL_BY_NUMBER(count, result, name, ...)                               \
	BY_NUMBER(name, WORDS##count(__VA_ARGS__))

REAL_CALLS(CALL_BY_NUMBER)

/* The offset comes in two halves; on 64 bits the first one is all of it. */
static off_t offset_of(const long *a)
{
	off_t at = (off_t)a[3];

	if (sizeof(long) < sizeof(at))
		at = (off_t)((uint64_t)a[4] << 32 | (uint32_t)a[3]);
	return at;
}

BY_NUMBER(preadv2, WORDS3(int, const struct iovec *, int), offset_of(a),
	  (int)a[5])
BY_NUMBER(pwritev2, WORDS3(int, const struct iovec *, int), offset_of(a),
	  (int)a[5])

/* The kernel's pselect6 and ppoll write back the time; their callers by
 * number know that and do not count on it being kept. */
BY_NUMBER(ppoll, WORDS4(struct pollfd *, nfds_t, const struct timespec *,
			const sigset_t *))

static long pselect_by_number(const long *a)
{
	const struct {
		const sigset_t *mask;
		size_t bytes;
	} *six = (const void *)a[5];

	return pselect(
	    WORDS5(int, fd_set *, fd_set *, fd_set *, const struct timespec *),
	    six ? six->mask : NULL);
}

BY_NUMBER(epoll_pwait,
	  WORDS5(int, struct epoll_event *, int, int, const sigset_t *))
BY_NUMBER(epoll_pwait2, WORDS5(int, struct epoll_event *, int,
			       const struct timespec *, const sigset_t *))
BY_NUMBER(fcntl, WORDS2(int, int), a[2])
BY_NUMBER(ioctl, WORDS2(int, unsigned long), a[2])
BY_NUMBER(prctl, (int)a[0], a[1], a[2], a[3], a[4])
BY_NUMBER(pidfd_getfd, WORDS3(int, int, unsigned))

#define CALL_ENTRY(count, result, name, ...) [SYS_##name] = name##_by_number,

static long (*const calls[])(const long *) = {
    [SYS_preadv2] = preadv2_by_number,
    [SYS_pwritev2] = pwritev2_by_number,
    [SYS_ppoll] = ppoll_by_number,
    [SYS_pselect6] = pselect_by_number,
    [SYS_epoll_pwait] = epoll_pwait_by_number,
    [SYS_epoll_pwait2] = epoll_pwait2_by_number,
    [SYS_fcntl] = fcntl_by_number,
    [SYS_ioctl] = ioctl_by_number,
    [SYS_prctl] = prctl_by_number,
    [SYS_pidfd_getfd] = pidfd_getfd_by_number,
    REAL_CALLS(CALL_ENTRY)};

/* Returns the function that makes the call, or NULL. */
static long (*function_of(long number))(const long *)
{
	if (number < 0 || number >= (long)(sizeof(calls) / sizeof(*calls)))
		return NULL;
	/* libc's is another one. */
	if (number == SYS_select && fdtable_connections_end() == 0)
		return NULL;
	return calls[number];
}

/* ---- calls that only concern us ---- */

static void note_call(long number, const long *a)
{
	switch (number) {
	case SYS_seccomp:
		if (a[0] == SECCOMP_SET_MODE_STRICT)
			sandbox_begins(SECCOMP_MODE_STRICT, 0);
		else if (a[0] == SECCOMP_SET_MODE_FILTER)
			sandbox_begins(SECCOMP_MODE_FILTER,
				       (unsigned long)a[2]);
		break;
	case SYS_io_submit:
		aio_submitted(a[1], (struct iocb *const *)a[2]);
		break;
	case SYS_io_uring_setup:
		engine_retire(REASON_DEMOTED_IO_URING);
		break;
	case SYS_bpf: /* programs that read sockets */
		if (a[0] == BPF_MAP_UPDATE_ELEM)
			bpf_updates_map((const union bpf_attr *)a[1],
					(unsigned)a[2]);
		break;
	default:
		break;
	}
}

/* ---- processes with a copy of our memory ---- */

#ifdef SYS_fork
#define IS_FORK(number) ((number) == SYS_fork)
#else
#define IS_FORK(number) false
#endif

/* The flags, or CLONE_VM for what makes no such process. */
static unsigned long flags_of(long number, const long *a)
{
	if (IS_FORK(number))
		return 0;
	if (number == SYS_clone)
		return (unsigned long)a[0];
	return number == SYS_clone3 && a[0]
		   ? (unsigned long)*(const uint64_t *)a[0]
		   : CLONE_VM;
}

/* vfork() by number, too. A thread is no other process. */
static void note_sharing(long number, unsigned long flags)
{
	bool clones = number == SYS_clone || number == SYS_clone3;

#ifdef SYS_vfork
	clones = clones || number == SYS_vfork;
#endif
	if (clones && !(flags & CLONE_THREAD))
		process_will_share_memory();
}

/* With the descriptors themselves, not copies of them, the two would each have
 * a picture of the same table. */
static void before_copy(unsigned long flags)
{
	if (flags & CLONE_FILES)
		engine_before_sharing();
	else
		engine_before_fork();
}

static void after_copy(unsigned long flags, pid_t pid)
{
	if (!(flags & CLONE_FILES))
		engine_after_fork(pid);
	else if (pid == 0)
		engine_leave();
}

static long fork_call(long number, const long *a, unsigned long flags)
{
	long r;
	int error;

	before_copy(flags);
	r = real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	error = errno;
	after_copy(flags, (pid_t)r);
	errno = error;
	return r;
}

/* What the child is to do; on the parent's stack, and so in the child's copy.
 */
struct first_call {
	int (*function)(void *);
	void *argument;
	unsigned long flags;
};

static int begin_copy(void *argument)
{
	const struct first_call first = *(const struct first_call *)argument;

	/* It may have been given no more stack than it needs itself, and what
	 * lies below that is the frame that this came from. */
	after_copy(first.flags, 0);
	return first.function(first.argument);
}

PRELOAD int clone(int (*function)(void *), void *stack, int flags,
		  void *argument, ...)
{
	struct first_call first = {function, argument, (unsigned)flags};
	void *more[3];
	va_list ap;
	int pid, error;

	va_start(ap, argument);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(ap, void *);
	va_end(ap);
	real_need();
	if (flags & CLONE_VM)
		note_sharing(SYS_clone, first.flags);
	if (!fdtable || (flags & CLONE_VM) || !function || !stack)
		return real.clone(function, stack, flags, argument, more[0],
				  more[1], more[2]);
	before_copy(first.flags);
	pid = real.clone(begin_copy, stack, flags, &first, more[0], more[1],
			 more[2]);
	error = errno;
	after_copy(first.flags, pid);
	errno = error;
	return pid;
}

int __clone(int (*)(void *), void *, int, void *, ...) __THROW;
PRELOAD_ALIAS(__clone, clone);

PRELOAD long syscall(long number, ...)
{
	unsigned long flags;
	long (*call)(const long *);
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	call = fdtable ? function_of(number) : NULL;
	if (call)
		return call(a);
	if (fdtable)
		note_call(number, a);
	flags = fdtable ? flags_of(number, a) : CLONE_VM;
	if (!(flags & CLONE_VM))
		return fork_call(number, a, flags);
	note_sharing(number, flags);
	return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* liburing's own way in. */
struct io_uring_params;
PRELOAD int io_uring_setup(unsigned entries, struct io_uring_params *p);
PRELOAD int io_uring_setup(unsigned entries, struct io_uring_params *p)
{
	long r = syscall(SYS_io_uring_setup, entries, p);

	return r < 0 ? -errno : (int)r;
}
