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

#define REAL_FIELD(count, result, name, ...) result (*name)(__VA_ARGS__);

struct real {
	/* Each of them has a bare system call behind it. */
	REAL_CALLS(REAL_FIELD)
	ssize_t (*preadv2)(int, const struct iovec *, int, off_t, int);
	ssize_t (*pwritev2)(int, const struct iovec *, int, off_t, int);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *,
		     const sigset_t *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *,
		       const struct timespec *, const sigset_t *);
	int (*epoll_pwait)(int, struct epoll_event *, int, int,
			   const sigset_t *);
	int (*epoll_pwait2)(int, struct epoll_event *, int,
			    const struct timespec *, const sigset_t *);
	int (*fcntl)(int, int, ...);
	int (*ioctl)(int, unsigned long, ...);
	int (*prctl)(int, ...);
	int (*open)(const char *, int, ...);
	int (*openat)(int, const char *, int, ...);
	int (*pipe)(int *);
	int (*eventfd)(unsigned, int);
	long (*syscall)(long, ...);
	/* No system call of their own: null until real_init, or real_need. */
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	pid_t (*fork)(void);
	pid_t (*raw_fork)(void); /* _Fork */
	int (*clone)(int (*)(void *), void *, int, void *, ...);
	int (*posix_spawn)(pid_t *, const char *,
			   const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[],
			   char *const[]);
	int (*posix_spawnp)(pid_t *, const char *,
			    const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[],
			    char *const[]);
	int (*posix_spawn_file_actions_adddup2)(posix_spawn_file_actions_t *,
						int, int);
	FILE *(*fopen)(const char *, const char *);
	FILE *(*fopen64)(const char *, const char *);
	DIR *(*opendir)(const char *);
	FILE *(*fdopen)(int, const char *);
	int (*fclose)(FILE *);
	FILE *(*freopen)(const char *, const char *, FILE *);
	FILE *(*freopen64)(const char *, const char *, FILE *);
	int (*system)(const char *);
	FILE *(*popen)(const char *, const char *);
	int (*wordexp)(const char *, wordexp_t *, int);
	int (*vdprintf)(int, const char *, va_list);
	void (*backtrace_symbols_fd)(void *const *, int, int);
	void *(*dlopen)(const char *, int);
	int (*dl_iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *),
			       void *);
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
