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

#define BARE6(n, a, b, c, d, e, f) libc_result(SYS_CALL6(n, a, b, c, d, e, f))
#define BARE4(n, a, b, c, d)       BARE6(n, a, b, c, d, 0, 0)
#define BARE3(n, a, b, c)          BARE6(n, a, b, c, 0, 0, 0)

static ssize_t bare_read(int fd, void *p, size_t n)
{
	return BARE3(SYS_read, fd, p, n);
}

static ssize_t bare_write(int fd, const void *p, size_t n)
{
	return BARE3(SYS_write, fd, p, n);
}

static ssize_t bare_readv(int fd, const struct iovec *v, int n)
{
	return BARE3(SYS_readv, fd, v, n);
}

static ssize_t bare_writev(int fd, const struct iovec *v, int n)
{
	return BARE3(SYS_writev, fd, v, n);
}

static ssize_t bare_recvfrom(int fd, void *p, size_t n, int flags,
			     struct sockaddr *a, socklen_t *l)
{
	return BARE6(SYS_recvfrom, fd, p, n, flags, a, l);
}

static ssize_t bare_recvmsg(int fd, struct msghdr *m, int flags)
{
	return BARE3(SYS_recvmsg, fd, m, flags);
}

static int bare_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
			 struct timespec *t)
{
	return (int)BARE6(SYS_recvmmsg, fd, m, n, flags, t, 0);
}

static ssize_t bare_sendto(int fd, const void *p, size_t n, int flags,
			   const struct sockaddr *a, socklen_t l)
{
	return BARE6(SYS_sendto, fd, p, n, flags, a, l);
}

static ssize_t bare_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return BARE3(SYS_sendmsg, fd, m, flags);
}

static int bare_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	return (int)BARE4(SYS_sendmmsg, fd, m, n, flags);
}

static ssize_t bare_sendfile(int out, int in, off_t *at, size_t n)
{
	return BARE4(SYS_sendfile, out, in, at, n);
}

static ssize_t bare_splice(int in, loff_t *ia, int out, loff_t *oa, size_t n,
			   unsigned flags)
{
	return BARE6(SYS_splice, in, ia, out, oa, n, flags);
}

/* The kernel takes a 64-bit offset in two halves; the upper one is 0 or -1. */
static ssize_t bare_preadv2(int fd, const struct iovec *v, int n, off_t at,
			    int flags)
{
	return BARE6(SYS_preadv2, fd, v, n, at, at >> 63, flags);
}

static ssize_t bare_pwritev2(int fd, const struct iovec *v, int n, off_t at,
			     int flags)
{
	return BARE6(SYS_pwritev2, fd, v, n, at, at >> 63, flags);
}

static int bare_poll(struct pollfd *p, nfds_t n, int ms)
{
	return (int)BARE3(SYS_poll, p, n, ms);
}

/* The kernel writes the time left back; libc's callers never see that. */
static int bare_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t,
		      const sigset_t *mask)
{
	struct timespec copy;

	if (t)
		copy = *t;
	return (int)BARE6(SYS_ppoll, p, n, t ? &copy : NULL, mask,
			  KERNEL_SIGSET_BYTES, 0);
}

static int bare_select(int n, fd_set *r, fd_set *w, fd_set *x,
		       struct timeval *t)
{
	return (int)BARE6(SYS_select, n, r, w, x, t, 0);
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
	return (int)BARE6(SYS_pselect6, n, r, w, x, t ? &copy : NULL, &m);
}

static int bare_epoll_create(int size)
{
	if (size <= 0)
		return (int)libc_result(-EINVAL);
	return (int)BARE3(SYS_epoll_create1, 0, 0, 0);
}

static int bare_epoll_create1(int flags)
{
	return (int)BARE3(SYS_epoll_create1, flags, 0, 0);
}

static int bare_epoll_ctl(int ep, int op, int fd, struct epoll_event *e)
{
	return (int)BARE4(SYS_epoll_ctl, ep, op, fd, e);
}

static int bare_epoll_pwait(int ep, struct epoll_event *e, int n, int ms,
			    const sigset_t *mask)
{
	return (int)BARE6(SYS_epoll_pwait, ep, e, n, ms, mask,
			  KERNEL_SIGSET_BYTES);
}

static int bare_epoll_wait(int ep, struct epoll_event *e, int n, int ms)
{
	return bare_epoll_pwait(ep, e, n, ms, NULL);
}

static int bare_epoll_pwait2(int ep, struct epoll_event *e, int n,
			     const struct timespec *t, const sigset_t *mask)
{
	return (int)BARE6(SYS_epoll_pwait2, ep, e, n, t, mask,
			  KERNEL_SIGSET_BYTES);
}

static int bare_socket(int d, int t, int p)
{
	return (int)BARE3(SYS_socket, d, t, p);
}

static int bare_listen(int fd, int n)
{
	return (int)BARE3(SYS_listen, fd, n, 0);
}

static int bare_connect(int fd, const struct sockaddr *a, socklen_t l)
{
	return (int)BARE3(SYS_connect, fd, a, l);
}

static int bare_accept(int fd, struct sockaddr *a, socklen_t *l)
{
	return (int)BARE3(SYS_accept, fd, a, l);
}

static int bare_accept4(int fd, struct sockaddr *a, socklen_t *l, int flags)
{
	return (int)BARE4(SYS_accept4, fd, a, l, flags);
}

static int bare_shutdown(int fd, int how)
{
	return (int)BARE3(SYS_shutdown, fd, how, 0);
}

static int bare_setsockopt(int fd, int level, int name, const void *v,
			   socklen_t l)
{
	return (int)BARE6(SYS_setsockopt, fd, level, name, v, l, 0);
}

static int bare_getpeername(int fd, struct sockaddr *a, socklen_t *n)
{
	return (int)BARE6(SYS_getpeername, fd, a, n, 0, 0, 0);
}

static int bare_getsockopt(int fd, int level, int name, void *v, socklen_t *l)
{
	return (int)BARE6(SYS_getsockopt, fd, level, name, v, l, 0);
}

static int bare_close(int fd)
{
	return (int)BARE3(SYS_close, fd, 0, 0);
}

static int bare_close_range(unsigned a, unsigned b, int flags)
{
	return (int)BARE3(SYS_close_range, a, b, flags);
}

static int bare_dup(int fd)
{
	return (int)BARE3(SYS_dup, fd, 0, 0);
}

static int bare_dup2(int from, int to)
{
	return (int)BARE3(SYS_dup2, from, to, 0);
}

static int bare_dup3(int from, int to, int flags)
{
	return (int)BARE3(SYS_dup3, from, to, flags);
}

static int bare_fcntl(int fd, int command, ...)
{
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	return (int)BARE3(SYS_fcntl, fd, command, argument);
}

static int bare_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	long argument;

	va_start(ap, request);
	argument = va_arg(ap, long);
	va_end(ap);
	return (int)BARE3(SYS_ioctl, fd, request, argument);
}

static int bare_execve(const char *path, char *const argv[], char *const env[])
{
	return (int)BARE3(SYS_execve, path, argv, env);
}

static int bare_execveat(int dir, const char *path, char *const argv[],
			 char *const env[], int flags)
{
	return (int)BARE6(SYS_execveat, dir, path, argv, env, flags, 0);
}

static int bare_prctl(int option, ...)
{
	va_list ap;
	long a[4];

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return (int)BARE6(SYS_prctl, option, a[0], a[1], a[2], a[3], 0);
}

static long bare_syscall(long number, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return BARE6(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

struct real real = {
    .read = bare_read,
    .write = bare_write,
    .readv = bare_readv,
    .writev = bare_writev,
    .recvfrom = bare_recvfrom,
    .recvmsg = bare_recvmsg,
    .recvmmsg = bare_recvmmsg,
    .sendto = bare_sendto,
    .sendmsg = bare_sendmsg,
    .sendmmsg = bare_sendmmsg,
    .sendfile = bare_sendfile,
    .splice = bare_splice,
    .preadv2 = bare_preadv2,
    .pwritev2 = bare_pwritev2,
    .poll = bare_poll,
    .ppoll = bare_ppoll,
    .select = bare_select,
    .pselect = bare_pselect,
    .epoll_create = bare_epoll_create,
    .epoll_create1 = bare_epoll_create1,
    .epoll_ctl = bare_epoll_ctl,
    .epoll_wait = bare_epoll_wait,
    .epoll_pwait = bare_epoll_pwait,
    .epoll_pwait2 = bare_epoll_pwait2,
    .socket = bare_socket,
    .listen = bare_listen,
    .connect = bare_connect,
    .accept = bare_accept,
    .accept4 = bare_accept4,
    .shutdown = bare_shutdown,
    .setsockopt = bare_setsockopt,
    .getpeername = bare_getpeername,
    .getsockopt = bare_getsockopt,
    .close = bare_close,
    .close_range = bare_close_range,
    .dup = bare_dup,
    .dup2 = bare_dup2,
    .dup3 = bare_dup3,
    .fcntl = bare_fcntl,
    .ioctl = bare_ioctl,
    .execve = bare_execve,
    .execveat = bare_execveat,
    .prctl = bare_prctl,
    .syscall = bare_syscall,
};

/* A function that this libc lacks keeps its bare system call. */
static void look_up(const char *name, void *entry)
{
	void *found = engines_next(name);

	if (found)
		memcpy(entry, &found, sizeof(found));
}

#define LOOK_UP(name) look_up(#name, &real.name)

/* Those without a bare system call. */
static void look_up_others(void)
{
	LOOK_UP(execvpe);
	LOOK_UP(fexecve);
	LOOK_UP(fork);
	look_up("_Fork", &real.raw_fork);
	LOOK_UP(clone);
	LOOK_UP(posix_spawn);
	LOOK_UP(posix_spawnp);
	LOOK_UP(posix_spawn_file_actions_adddup2);
	LOOK_UP(fdopen);
	LOOK_UP(fclose);
	LOOK_UP(freopen);
	LOOK_UP(freopen64);
	LOOK_UP(system);
	LOOK_UP(popen);
	LOOK_UP(wordexp);
	LOOK_UP(vdprintf);
	LOOK_UP(backtrace_symbols_fd);
	LOOK_UP(dlopen);
	LOOK_UP(dl_iterate_phdr);
}

void real_init(void)
{
	LOOK_UP(read);
	LOOK_UP(write);
	LOOK_UP(readv);
	LOOK_UP(writev);
	LOOK_UP(recvfrom);
	LOOK_UP(recvmsg);
	LOOK_UP(recvmmsg);
	LOOK_UP(sendto);
	LOOK_UP(sendmsg);
	LOOK_UP(sendmmsg);
	LOOK_UP(sendfile);
	LOOK_UP(splice);
	LOOK_UP(preadv2);
	LOOK_UP(pwritev2);
	LOOK_UP(poll);
	LOOK_UP(ppoll);
	LOOK_UP(select);
	LOOK_UP(pselect);
	LOOK_UP(epoll_create);
	LOOK_UP(epoll_create1);
	LOOK_UP(epoll_ctl);
	LOOK_UP(epoll_wait);
	LOOK_UP(epoll_pwait);
	LOOK_UP(epoll_pwait2);
	LOOK_UP(socket);
	LOOK_UP(listen);
	LOOK_UP(connect);
	LOOK_UP(accept);
	LOOK_UP(accept4);
	LOOK_UP(shutdown);
	LOOK_UP(setsockopt);
	LOOK_UP(getpeername);
	LOOK_UP(getsockopt);
	LOOK_UP(close);
	LOOK_UP(close_range);
	LOOK_UP(dup);
	LOOK_UP(dup2);
	LOOK_UP(dup3);
	LOOK_UP(fcntl);
	LOOK_UP(ioctl);
	LOOK_UP(execve);
	LOOK_UP(execveat);
	LOOK_UP(prctl);
	LOOK_UP(syscall);
	look_up_others();
}
