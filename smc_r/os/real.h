/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * real: the C library's own functions, below the ones that we replace.
 *
 * Until real_init has run (constructors of other libraries, allocators that
 * start up) each entry issues the bare system call, so that what an allocator
 * calls never needs dlsym from inside its initialisation. What is no system
 * call begins by real_need.
 *
 * Locking: none; the table is written before the program has threads.
 */
#ifndef SMC_R_REAL_H
#define SMC_R_REAL_H

#include <dirent.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <wordexp.h>

/*
 * The system calls whose function in libc has their name and their parameters.
 * CALL makes something of each one's number of parameters, result, name, and
 * types of the parameters.
 */
#define REAL_CALLS(CALL)                                                       \
	CALL(3, ssize_t, read, int, void *, size_t)                            \
	CALL(3, ssize_t, write, int, const void *, size_t)                     \
	CALL(3, ssize_t, readv, int, const struct iovec *, int)                \
	CALL(3, ssize_t, writev, int, const struct iovec *, int)               \
	CALL(6, ssize_t, recvfrom, int, void *, size_t, int,                   \
	     struct sockaddr *, socklen_t *)                                   \
	CALL(3, ssize_t, recvmsg, int, struct msghdr *, int)                   \
	CALL(5, int, recvmmsg, int, struct mmsghdr *, unsigned, int,           \
	     struct timespec *)                                                \
	CALL(6, ssize_t, sendto, int, const void *, size_t, int,               \
	     const struct sockaddr *, socklen_t)                               \
	CALL(3, ssize_t, sendmsg, int, const struct msghdr *, int)             \
	CALL(4, int, sendmmsg, int, struct mmsghdr *, unsigned, int)           \
	CALL(4, ssize_t, sendfile, int, int, off_t *, size_t)                  \
	CALL(6, ssize_t, splice, int, loff_t *, int, loff_t *, size_t,         \
	     unsigned)                                                         \
	CALL(3, int, poll, struct pollfd *, nfds_t, int)                       \
	CALL(5, int, select, int, fd_set *, fd_set *, fd_set *,                \
	     struct timeval *)                                                 \
	CALL(1, int, epoll_create, int)                                        \
	CALL(1, int, epoll_create1, int)                                       \
	CALL(4, int, epoll_ctl, int, int, int, struct epoll_event *)           \
	CALL(4, int, epoll_wait, int, struct epoll_event *, int, int)          \
	CALL(3, int, socket, int, int, int)                                    \
	CALL(4, int, socketpair, int, int, int, int *)                         \
	CALL(2, int, pipe2, int *, int)                                        \
	CALL(2, int, timerfd_create, int, int)                                 \
	CALL(2, int, memfd_create, const char *, unsigned)                     \
	CALL(1, int, inotify_init1, int)                                       \
	CALL(2, int, listen, int, int)                                         \
	CALL(3, int, connect, int, const struct sockaddr *, socklen_t)         \
	CALL(3, int, accept, int, struct sockaddr *, socklen_t *)              \
	CALL(4, int, accept4, int, struct sockaddr *, socklen_t *, int)        \
	CALL(2, int, shutdown, int, int)                                       \
	CALL(5, int, setsockopt, int, int, int, const void *, socklen_t)       \
	CALL(3, int, getpeername, int, struct sockaddr *, socklen_t *)         \
	CALL(5, int, getsockopt, int, int, int, void *, socklen_t *)           \
	CALL(1, int, close, int)                                               \
	CALL(3, int, close_range, unsigned, unsigned, int)                     \
	CALL(1, int, dup, int)                                                 \
	CALL(2, int, dup2, int, int)                                           \
	CALL(3, int, dup3, int, int, int)                                      \
	CALL(3, int, execve, const char *, char *const *, char *const *)       \
	CALL(5, int, execveat, int, const char *, char *const *,               \
	     char *const *, int)

/* Those with other parameters; a function of ours makes the system call. */
#define REAL_CALLS_OF_OTHER_FORM(CALL)                                         \
	CALL(5, ssize_t, preadv2, int, const struct iovec *, int, off_t, int)  \
	CALL(5, ssize_t, pwritev2, int, const struct iovec *, int, off_t, int) \
	CALL(4, int, ppoll, struct pollfd *, nfds_t, const struct timespec *,  \
	     const sigset_t *)                                                 \
	CALL(6, int, pselect, int, fd_set *, fd_set *, fd_set *,               \
	     const struct timespec *, const sigset_t *)                        \
	CALL(5, int, epoll_pwait, int, struct epoll_event *, int, int,         \
	     const sigset_t *)                                                 \
	CALL(5, int, epoll_pwait2, int, struct epoll_event *, int,             \
	     const struct timespec *, const sigset_t *)                        \
	CALL(2, int, fcntl, int, int, ...)                                     \
	CALL(2, int, ioctl, int, unsigned long, ...)                           \
	CALL(1, int, prctl, int, ...)                                          \
	CALL(2, int, open, const char *, int, ...)                             \
	CALL(3, int, openat, int, const char *, int, ...)                      \
	CALL(2, int, creat, const char *, mode_t)                              \
	CALL(0, int, inotify_init, void)                                       \
	CALL(1, int, pipe, int *)                                              \
	CALL(2, int, eventfd, unsigned, int)                                   \
	CALL(3, int, signalfd, int, const sigset_t *, int)                     \
	CALL(1, long, syscall, long, ...)

/* Those without a system call of their own. */
#define REAL_FUNCTIONS(CALL)                                                   \
	CALL(3, int, execvpe, const char *, char *const *, char *const *)      \
	CALL(3, int, fexecve, int, char *const *, char *const *)               \
	CALL(0, pid_t, fork, void)                                             \
	CALL(0, pid_t, _Fork, void)                                            \
	CALL(4, int, clone, int (*)(void *), void *, int, void *, ...)         \
	CALL(6, int, posix_spawn, pid_t *, const char *,                       \
	     const posix_spawn_file_actions_t *, const posix_spawnattr_t *,    \
	     char *const *, char *const *)                                     \
	CALL(6, int, posix_spawnp, pid_t *, const char *,                      \
	     const posix_spawn_file_actions_t *, const posix_spawnattr_t *,    \
	     char *const *, char *const *)                                     \
	CALL(3, int, posix_spawn_file_actions_adddup2,                         \
	     posix_spawn_file_actions_t *, int, int)                           \
	CALL(2, int, __open_2, const char *, int)                              \
	CALL(3, int, __openat_2, int, const char *, int)                       \
	CALL(2, FILE *, fopen, const char *, const char *)                     \
	CALL(2, FILE *, fopen64, const char *, const char *)                   \
	CALL(1, DIR *, opendir, const char *)                                  \
	CALL(2, FILE *, fdopen, int, const char *)                             \
	CALL(1, int, fclose, FILE *)                                           \
	CALL(3, FILE *, freopen, const char *, const char *, FILE *)           \
	CALL(3, FILE *, freopen64, const char *, const char *, FILE *)         \
	CALL(1, int, system, const char *)                                     \
	CALL(2, FILE *, popen, const char *, const char *)                     \
	CALL(3, int, wordexp, const char *, wordexp_t *, int)                  \
	CALL(3, int, vdprintf, int, const char *, va_list)                     \
	CALL(3, void, backtrace_symbols_fd, void *const *, int, int)           \
	CALL(2, void *, dlopen, const char *, int)                             \
	CALL(2, int, dl_iterate_phdr,                                          \
	     int (*)(struct dl_phdr_info *, size_t, void *), void *)

#define REAL_FIELD(count, result, name, ...) result (*name)(__VA_ARGS__);

struct real {
	/* Each of them has a bare system call behind it. */
	REAL_CALLS(REAL_FIELD)
	REAL_CALLS_OF_OTHER_FORM(REAL_FIELD)
	/* Null until real_init, or real_need. */
	REAL_FUNCTIONS(REAL_FIELD)
};

extern struct real real;

/* Fills the table. Called by the constructor, before any thread. */
void real_init(void);

/* Constructors of other libraries run before ours, as a rule. */
static inline void real_need(void)
{
	if (__builtin_expect(!real.fork, 0))
		real_init();
}

#endif
