/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * sys: system calls without libc, which we partly replace.
 *
 * Each returns the kernel's value: a result, or a negative errno. errno itself
 * is never touched, and nothing here is a cancellation point.
 */
#ifndef SMC_R_SYS_H
#define SMC_R_SYS_H

#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__clang_analyzer__)
/* Unknown to it, so that it takes memory as written where pointers go. */
long sys_call6(long n, long a, long b, long c, long d, long e, long f);
#elif defined(__x86_64__)
static inline long sys_call6(long n, long a, long b, long c, long d, long e,
			     long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long sys_call6(long n, long a, long b, long c, long d, long e,
			     long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "sys.h knows x86-64 and arm64 only"
#endif

#ifdef SMC_R_INJECT
/* An error in place of this call: inject.h */
long inject_error(long number, long second, long fifth);

static inline long sys_call(long n, long a, long b, long c, long d, long e,
			    long f)
{
	long error = inject_error(n, b, e);

	return error ? error : sys_call6(n, a, b, c, d, e, f);
}
#else
#define sys_call sys_call6
#endif

#define SYS_ARG(x) ((long)(x))
#define SYS_CALL6(n, a, b, c, d, e, f)                                         \
	sys_call(n, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d),            \
		 SYS_ARG(e), SYS_ARG(f))
#define SYS_CALL4(n, a, b, c, d) SYS_CALL6(n, a, b, c, d, 0, 0)
#define SYS_CALL3(n, a, b, c)    SYS_CALL6(n, a, b, c, 0, 0, 0)

static inline int sys_getpid(void)
{
	return (int)SYS_CALL3(SYS_getpid, 0, 0, 0);
}

static inline int sys_gettid(void)
{
	return (int)SYS_CALL3(SYS_gettid, 0, 0, 0);
}

static inline long sys_close(int fd)
{
	return SYS_CALL3(SYS_close, fd, 0, 0);
}

/*
 * Enters the kernel by number: the function of that name may be fakeroot's,
 * which asks a server over TCP in it: it would wait for itself where that
 * connection is ours.
 */
static inline long sys_fstat(int fd, struct stat *out)
{
	return SYS_CALL3(SYS_fstat, fd, out, 0);
}

/* The user that owns files and has rights, whatever fakeroot says. */
static inline uint32_t sys_geteuid(void)
{
	return (uint32_t)SYS_CALL3(SYS_geteuid, 0, 0, 0);
}

/* epoll_ctl(2); for EPOLL_CTL_DEL events and data do not matter. */
static inline long sys_epoll_ctl(int ep, int op, int fd, uint32_t events,
				 uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};

	return SYS_CALL4(SYS_epoll_ctl, ep, op, fd, &e);
}

/* poll(2) of one descriptor. Returns what came; 0: nothing, or a signal. */
static inline short sys_poll(int fd, short events, int ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	return SYS_CALL3(SYS_poll, &p, 1, ms) == 1 ? p.revents : 0;
}

static inline long sys_getsockopt(int fd, int level, int name, void *value,
				  socklen_t bytes)
{
	return SYS_CALL6(SYS_getsockopt, fd, level, name, value, &bytes, 0);
}

/* Returns a number that is an option of SOL_SOCKET; 0: it is none. */
static inline int sys_socket_option(int fd, int name)
{
	int value = 0;

	sys_getsockopt(fd, SOL_SOCKET, name, &value, sizeof(value));
	return value;
}

static inline long sys_set_option(int fd, int level, int name, int value)
{
	return SYS_CALL6(SYS_setsockopt, fd, level, name, &value, sizeof(value),
			 0);
}

/* The word may be in memory that other processes map. A NULL time waits for
 * ever; else the time is relative. */
static inline long sys_futex_wait(_Atomic uint32_t *word, uint32_t value,
				  const struct timespec *timeout)
{
	return SYS_CALL4(SYS_futex, word, FUTEX_WAIT, value, timeout);
}

static inline long sys_futex_wake(_Atomic uint32_t *word, int count)
{
	return SYS_CALL3(SYS_futex, word, FUTEX_WAKE, count);
}

static inline uint64_t sys_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Converts a time-out that the kernel would take. One of centuries is as good
 * as any: no clock comes there, and sums with it do not wrap. */
static inline uint64_t sys_timeout_ns(const struct timespec *t)
{
	uint64_t seconds = (uint64_t)t->tv_sec;

	if (seconds >= INT64_MAX / 1000000000u)
		return INT64_MAX;
	return seconds * 1000000000u + (uint64_t)t->tv_nsec;
}

/* When it is over, by sys_now_ns. NULL: never. */
static inline uint64_t sys_end_ns(const struct timespec *timeout)
{
	return timeout ? sys_now_ns() + sys_timeout_ns(timeout) : UINT64_MAX;
}

static inline uint64_t sys_end_in_ns(uint64_t ns)
{
	return sys_now_ns() + ns;
}

static inline uint64_t sys_end_in_ms(uint64_t ms)
{
	return sys_end_in_ns(ms * 1000000u);
}

/* Until then, in ns: 0 when it is over, UINT64_MAX for ever. */
static inline uint64_t sys_left_ns(uint64_t end_ns)
{
	uint64_t now;

	if (end_ns == UINT64_MAX)
		return UINT64_MAX;
	now = sys_now_ns();
	return now < end_ns ? end_ns - now : 0;
}

static inline struct timespec sys_timespec(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u),
			     (long)(ns % 1000000000u)};

	return t;
}

static inline void sys_nap(uint64_t ns)
{
	struct timespec t = sys_timespec(ns);

	SYS_CALL3(SYS_nanosleep, &t, NULL, 0);
}

/* The cheapest clock that all processors share, in units of its own. */
static inline uint64_t sys_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#endif
}

/* Are so many microseconds over since then, about? Nobody tells how fast the
 * clock of x86 is: it may be half as long, or twice. */
static inline bool sys_ticks_are_over(uint64_t since, uint32_t us)
{
	uint64_t hz = 2500000000u;

#if !defined(__x86_64__)
	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
	return (int64_t)(sys_ticks() - since) >= (int64_t)(us * (hz / 1000000));
}

/* Tell the core that this is a spin. */
static inline void sys_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

#endif
