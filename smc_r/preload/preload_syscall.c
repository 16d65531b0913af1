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
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

#define P(T, x) ((T)(uintptr_t)(x))
#define FD(x)   ((int)(x))

static bool data_call(long number, const long *a, long *r)
{
	switch (number) {
	case SYS_read:
		*r = read(FD(a[0]), P(void *, a[1]), (size_t)a[2]);
		return true;
	case SYS_write:
		*r = write(FD(a[0]), P(const void *, a[1]), (size_t)a[2]);
		return true;
	case SYS_readv:
		*r = readv(FD(a[0]), P(const struct iovec *, a[1]), (int)a[2]);
		return true;
	case SYS_writev:
		*r = writev(FD(a[0]), P(const struct iovec *, a[1]), (int)a[2]);
		return true;
	case SYS_recvfrom:
		*r =
		    recvfrom(FD(a[0]), P(void *, a[1]), (size_t)a[2], (int)a[3],
			     P(struct sockaddr *, a[4]), P(socklen_t *, a[5]));
		return true;
	case SYS_sendto:
		*r = sendto(FD(a[0]), P(const void *, a[1]), (size_t)a[2],
			    (int)a[3], P(const struct sockaddr *, a[4]),
			    (socklen_t)a[5]);
		return true;
	case SYS_recvmsg:
		*r = recvmsg(FD(a[0]), P(struct msghdr *, a[1]), (int)a[2]);
		return true;
	case SYS_sendmsg:
		*r = sendmsg(FD(a[0]), P(const struct msghdr *, a[1]),
			     (int)a[2]);
		return true;
	case SYS_recvmmsg:
		*r = recvmmsg(FD(a[0]), P(struct mmsghdr *, a[1]),
			      (unsigned)a[2], (int)a[3],
			      P(struct timespec *, a[4]));
		return true;
	case SYS_sendmmsg:
		*r = sendmmsg(FD(a[0]), P(struct mmsghdr *, a[1]),
			      (unsigned)a[2], (int)a[3]);
		return true;
	case SYS_sendfile:
		*r = sendfile(FD(a[0]), FD(a[1]), P(off_t *, a[2]),
			      (size_t)a[3]);
		return true;
	case SYS_splice:
		*r = splice(FD(a[0]), P(loff_t *, a[1]), FD(a[2]),
			    P(loff_t *, a[3]), (size_t)a[4], (unsigned)a[5]);
		return true;
	default:
		return false;
	}
}

/* The offset comes in two halves; on 64 bits the first one is all of it. */
static bool vector_call(long number, const long *a, long *r)
{
	off_t at = (off_t)a[3];

	if (sizeof(long) < sizeof(at))
		at = (off_t)((uint64_t)a[4] << 32 | (uint32_t)a[3]);
	switch (number) {
	case SYS_preadv2:
		*r = preadv2(FD(a[0]), P(const struct iovec *, a[1]), (int)a[2],
			     at, (int)a[5]);
		return true;
	case SYS_pwritev2:
		*r = pwritev2(FD(a[0]), P(const struct iovec *, a[1]),
			      (int)a[2], at, (int)a[5]);
		return true;
	default:
		return false;
	}
}

/* The kernel's pselect6 and ppoll write back the time; their callers by
 * number know that and do not count on it being kept. */
static bool wait_call(long number, const long *a, long *r)
{
	const struct {
		const sigset_t *mask;
		size_t bytes;
	} * six;

	switch (number) {
#ifdef SYS_poll
	case SYS_poll:
		*r = poll(P(struct pollfd *, a[0]), (nfds_t)a[1], (int)a[2]);
		return true;
	case SYS_select:
		/* libc's is another one. */
		if (fdtable_connections_end() == 0)
			return false;
		*r = select(FD(a[0]), P(fd_set *, a[1]), P(fd_set *, a[2]),
			    P(fd_set *, a[3]), P(struct timeval *, a[4]));
		return true;
	case SYS_epoll_wait:
		*r = epoll_wait(FD(a[0]), P(struct epoll_event *, a[1]),
				(int)a[2], (int)a[3]);
		return true;
	case SYS_epoll_create:
		*r = epoll_create((int)a[0]);
		return true;
#endif
	case SYS_ppoll:
		*r = ppoll(P(struct pollfd *, a[0]), (nfds_t)a[1],
			   P(const struct timespec *, a[2]),
			   P(const sigset_t *, a[3]));
		return true;
	case SYS_pselect6:
		six = P(const void *, a[5]);
		*r =
		    pselect(FD(a[0]), P(fd_set *, a[1]), P(fd_set *, a[2]),
			    P(fd_set *, a[3]), P(const struct timespec *, a[4]),
			    six ? six->mask : NULL);
		return true;
	case SYS_epoll_pwait:
		*r = epoll_pwait(FD(a[0]), P(struct epoll_event *, a[1]),
				 (int)a[2], (int)a[3],
				 P(const sigset_t *, a[4]));
		return true;
	case SYS_epoll_pwait2:
		*r = epoll_pwait2(FD(a[0]), P(struct epoll_event *, a[1]),
				  (int)a[2], P(const struct timespec *, a[3]),
				  P(const sigset_t *, a[4]));
		return true;
	case SYS_epoll_create1:
		*r = epoll_create1((int)a[0]);
		return true;
	case SYS_epoll_ctl:
		*r = epoll_ctl(FD(a[0]), (int)a[1], FD(a[2]),
			       P(struct epoll_event *, a[3]));
		return true;
	default:
		return false;
	}
}

static bool descriptor_call(long number, const long *a, long *r)
{
	switch (number) {
	case SYS_close:
		*r = close(FD(a[0]));
		return true;
	case SYS_close_range:
		*r = close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
		return true;
	case SYS_pidfd_getfd:
		*r = pidfd_getfd(FD(a[0]), FD(a[1]), (unsigned)a[2]);
		return true;
	case SYS_dup:
		*r = dup(FD(a[0]));
		return true;
#ifdef SYS_dup2
	case SYS_dup2:
		*r = dup2(FD(a[0]), FD(a[1]));
		return true;
#endif
	case SYS_dup3:
		*r = dup3(FD(a[0]), FD(a[1]), (int)a[2]);
		return true;
	case SYS_fcntl:
		*r = fcntl(FD(a[0]), (int)a[1], a[2]);
		return true;
	case SYS_ioctl:
		*r = ioctl(FD(a[0]), (unsigned long)a[1], a[2]);
		return true;
	case SYS_execve:
		*r = execve(P(const char *, a[0]), P(char *const *, a[1]),
			    P(char *const *, a[2]));
		return true;
	case SYS_execveat:
		*r = execveat(FD(a[0]), P(const char *, a[1]),
			      P(char *const *, a[2]), P(char *const *, a[3]),
			      (int)a[4]);
		return true;
	case SYS_prctl:
		*r = prctl((int)a[0], a[1], a[2], a[3], a[4]);
		return true;
	case SYS_seccomp:
		if (a[0] == SECCOMP_SET_MODE_STRICT)
			sandbox_begins(SECCOMP_MODE_STRICT, 0);
		else if (a[0] == SECCOMP_SET_MODE_FILTER)
			sandbox_begins(SECCOMP_MODE_FILTER,
				       (unsigned long)a[2]);
		return false;
	case SYS_io_submit:
		aio_submitted(a[1], P(struct iocb *const *, a[2]));
		return false;
	case SYS_io_uring_setup:
		engine_retire(REASON_DEMOTED_IO_URING);
		return false;
	default:
		return false;
	}
}

static bool socket_call(long number, const long *a, long *r)
{
	switch (number) {
	case SYS_socket:
		*r = socket((int)a[0], (int)a[1], (int)a[2]);
		return true;
	case SYS_listen:
		*r = listen(FD(a[0]), (int)a[1]);
		return true;
	case SYS_connect:
		*r = connect(FD(a[0]), P(const struct sockaddr *, a[1]),
			     (socklen_t)a[2]);
		return true;
	case SYS_accept:
		*r = accept(FD(a[0]), P(struct sockaddr *, a[1]),
			    P(socklen_t *, a[2]));
		return true;
	case SYS_accept4:
		*r = accept4(FD(a[0]), P(struct sockaddr *, a[1]),
			     P(socklen_t *, a[2]), (int)a[3]);
		return true;
	case SYS_shutdown:
		*r = shutdown(FD(a[0]), (int)a[1]);
		return true;
	case SYS_setsockopt:
		*r = setsockopt(FD(a[0]), (int)a[1], (int)a[2],
				P(const void *, a[3]), (socklen_t)a[4]);
		return true;
	case SYS_getsockopt:
		*r = getsockopt(FD(a[0]), (int)a[1], (int)a[2], P(void *, a[3]),
				P(socklen_t *, a[4]));
		return true;
	case SYS_getpeername:
		*r = getpeername(FD(a[0]), P(struct sockaddr *, a[1]),
				 P(socklen_t *, a[2]));
		return true;
	default:
		return false;
	}
}

/* ---- BPF programs that read sockets ---- */

static void note_map(long number, const long *a)
{
	if (number == SYS_bpf && a[0] == BPF_MAP_UPDATE_ELEM)
		bpf_updates_map(P(const union bpf_attr *, a[1]),
				(unsigned)a[2]);
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
		   ? (unsigned long)*P(const uint64_t *, a[0])
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
	long a[6];
	long r;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (fdtable &&
	    (data_call(number, a, &r) || vector_call(number, a, &r) ||
	     wait_call(number, a, &r) || descriptor_call(number, a, &r) ||
	     socket_call(number, a, &r)))
		return r;
	if (fdtable)
		note_map(number, a);
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
