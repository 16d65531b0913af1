/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* process: identity, and the engine's lock. */
#include "smc_r/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "smc_r/os/fork_page.h"
#include "smc_r/os/sys.h"
#include "smc_r/protocol/text.h"

#define SPIN_DEFAULT_US      50u
#define STALL_DEFAULT_MS     500
#define HANDSHAKE_DEFAULT_MS 200
#define HANDSHAKE_MIN_MS     20
#define HANDSHAKE_MAX_MS     60000
#define NS_A_SECOND          1000000000ull
#define CLOCK_SLACK_NS       1000 /* readings of two processors */

FORK_PAGE _Alignas(64) struct process process;
FORK_PAGE bool process_is_empty_copy;
/* Somebody has looked at the count of forks since the last one. */
FORK_PAGE static _Atomic bool forks_noted = true;

/* No generation has the number that a new thread begins with. */
#define GENERATION_NONE UINT32_MAX

static __thread uint32_t cached_tid;
static __thread uint32_t cached_generation = GENERATION_NONE;
static _Atomic uint32_t lock_word; /* tid of the holder, 0 free */
static uint64_t lock_mask;         /* the signals that its holder had blocked */
static bool lock_is_forks;         /* taken before one, and not yet left */

/* The process that forked us, as far as we saw; 0: none. */
static pid_t parent_pid;
static uint64_t parent_start;
static uint64_t forked_after_ns; /* by CLOCK_BOOTTIME; 0 nobody knows */

/*
 * Counts the forks that led to us, from 1. The word that every thread looks at
 * is in a page that is 0 in every copy of our address space, however the copy
 * was made; where the kernel has no such pages it is an ordinary one.
 */
static uint32_t generation = 1;
static _Atomic uint32_t never_wiped = 1;
static _Atomic uint32_t *wiped_on_fork = &never_wiped;
/* There instead of 0 while a thread of the copy sees to it: that one. */
#define GENERATION_COMES (UINT32_MAX - 1)
static _Atomic uint32_t noticing;

/* ---- identity ---- */

static size_t read_file(int dir, const char *path, char *out, size_t size)
{
	long fd = SYS_CALL4(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return 0;
	n = SYS_CALL3(SYS_read, fd, out, size - 1);
	sys_close((int)fd);
	if (n < 0)
		n = 0;
	out[n] = '\0';
	return (size_t)n;
}

static int proc = -1; /* /proc, kept open */

void process_keep_proc(int fd)
{
	proc = fd;
}

/* A path that begins with "/proc/", for a call that begins at `proc`. */
#define PATH_IN_PROC(path) ((path) + (proc < 0 ? 0 : 6))

/* Returns -errno. */
static long open_in_proc(const char *path, int flags)
{
	return SYS_CALL4(SYS_openat, proc, PATH_IN_PROC(path),
			 flags | O_CLOEXEC, 0);
}

int process_reopen(int fd, int flags)
{
	char path[40] = "/proc/thread-self/fd/";

	if (fd < 0)
		return -EBADF;
	text_put_number(path + strlen(path), (uint64_t)fd);
	return (int)open_in_proc(path, flags);
}

#define STAT_BYTES    1024
#define FIELD_STATE   3
#define FIELD_FLAGS   9
#define FIELD_THREADS 20
#define FIELD_START   22

/* /proc/<pid>/stat; false when the kernel does not tell. */
static bool read_stat(char text[STAT_BYTES], pid_t pid)
{
	char path[32] = "/proc/";

	text_put(text_put_number(path + 6, (uint64_t)pid), "/stat");
	return read_file(proc, PATH_IN_PROC(path), text, STAT_BYTES) > 0;
}

/* Never NULL. The name in field 2 may hold anything, a ')' too. */
static const char *stat_field(const char *text, int wanted)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : "";
}

static bool is_over(const char *text)
{
	const char *state = stat_field(text, FIELD_STATE);

	return *state == 'Z' || *state == 'X';
}

/* PF_FORKNOEXEC of the kernel: it has, since it was forked. */
static bool has_executed(const char *text)
{
	return !(strtoul(stat_field(text, FIELD_FLAGS), NULL, 10) & 0x40u);
}

/* The start time; *executed: the process is no copy of its parent any more, or
 * never was. text is the line, or nothing. */
static uint64_t read_life(char text[STAT_BYTES], pid_t pid, bool *executed)
{
	*executed = false;
	if (!read_stat(text, pid)) {
		*text = '\0';
		return SYS_CALL3(SYS_kill, pid, 0, 0) == -ESRCH
			   ? 0
			   : PROCESS_HIDDEN;
	}
	*executed = has_executed(text);
	/* The first thread may end and stay a zombie while others work on. */
	if (is_over(text) &&
	    strtoul(stat_field(text, FIELD_THREADS), NULL, 10) <= 1)
		return 0;
	return strtoull(stat_field(text, FIELD_START), NULL, 10);
}

static uint64_t process_life(pid_t pid, bool *executed)
{
	char text[STAT_BYTES];

	return read_life(text, pid, executed);
}

uint64_t process_start_time(pid_t pid)
{
	bool executed;

	return process_life(pid, &executed);
}

/* A descriptor of a process can be read from when all its threads are over. */
bool process_has_ended(pid_t pid)
{
	long fd = SYS_CALL3(SYS_pidfd_open, pid, 0, 0);
	bool ended;

	if (fd < 0)
		return process_start_time(pid) == 0;
	ended = sys_poll((int)fd, POLLIN, 0) != 0;
	sys_close((int)fd);
	return ended;
}

static bool is_same(uint64_t now, uint64_t start)
{
	return now && (now == start || now == PROCESS_HIDDEN ||
		       start == PROCESS_HIDDEN);
}

bool process_is_same(pid_t pid, uint64_t start)
{
	if (pid == process.pid)
		return is_same(process.start, start);
	return is_same(pid > 0 ? process_start_time(pid) : 0, start);
}

bool process_is_same_program(pid_t pid, uint64_t start)
{
	bool executed;

	return is_same(pid > 0 ? process_life(pid, &executed) : 0, start) &&
	       !executed;
}

bool process_thread_is_dead(uint32_t tid)
{
	char text[STAT_BYTES];

	if (SYS_CALL3(SYS_tkill, tid, 0, 0) == -ESRCH)
		return true;
	/* A zombie takes signals. No file is no proof: /proc may be hidden. */
	return read_stat(text, (pid_t)tid) && is_over(text);
}

/* It is the name as it was started, which is what ps shows and may be a link
 * to another one: field 2, in brackets. */
static void find_program(const char *stat)
{
	const char *from = strchr(stat, '(');
	const char *end = strrchr(stat, ')');
	size_t length = from && end > from ? (size_t)(end - from - 1) : 0;

	if (length >= sizeof(process.program))
		length = sizeof(process.program) - 1;
	if (length > 0)
		memcpy(process.program, from + 1, length);
	process.program[length] = '\0';
	if (length == 0)
		text_put(process.program, process_executable());
}

const char *process_executable(void)
{
	static char name[STATUS_PROGRAM_MAX];
	char path[512];
	const char *last;
	long n;

	if (name[0])
		return name;
	n = SYS_CALL4(SYS_readlinkat, proc, PATH_IN_PROC("/proc/self/exe"),
		      path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	last = strrchr(path, '/');
	last = last ? last + 1 : path;
	for (size_t i = 0; last[i] && i + 1 < sizeof(name); i++)
		name[i] = last[i];
	return name;
}

static void mark_address_space(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	atomic_store((_Atomic uint32_t *)page, generation);
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0)
		wiped_on_fork = page;
	else
		munmap(page, 4096);
}

/* A number from the environment. */
static unsigned setting(const char *name, unsigned otherwise)
{
	const char *value = getenv(name);

	return value && *value ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

void process_read_environment(void)
{
	const char *value = getenv("SMC_R");

	process.off = value && strcmp(value, "0") == 0;
	process.spin_us = setting("SMC_R_SPIN", SPIN_DEFAULT_US);
	if (process.spin_us > SPIN_DEFAULT_US)
		process.spin_us = SPIN_DEFAULT_US;
	process.stall_ms = setting("SMC_R_STALL", STALL_DEFAULT_MS);
	process.handshake_ms = setting("SMC_R_HANDSHAKE", HANDSHAKE_DEFAULT_MS);
	if (process.handshake_ms < HANDSHAKE_MIN_MS)
		process.handshake_ms = HANDSHAKE_MIN_MS;
	if (process.handshake_ms > HANDSHAKE_MAX_MS)
		process.handshake_ms = HANDSHAKE_MAX_MS;
	value = getenv("SMC_R_REPORTER");
	process.reporter = value ? (pid_t)strtol(value, NULL, 10) : 0;
}

void process_begin(void)
{
	char text[STAT_BYTES];
	bool executed;

	process.pid = sys_getpid();
	process.start = read_life(text, process.pid, &executed);
	find_program(text);
	if (wiped_on_fork == &never_wiped)
		mark_address_space();
	atomic_store(&process.begun, true);
}

void process_init(void)
{
	process_read_environment();
	process_begin();
}

/* The clock and the unit of FIELD_START. */
static uint64_t boot_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_BOOTTIME, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * NS_A_SECOND + (uint64_t)t.tv_nsec;
}

/* Found before the fork: a child has none of libc's pages for it. */
static uint64_t tick_ns;

static uint64_t boot_ticks(uint64_t ns)
{
	return ns / tick_ns;
}

uint32_t process_note_forks(void)
{
	atomic_store(&forks_noted, true);
	return atomic_load(&process.forks);
}

/* A parent that writes here copies the page that it shares with the child. */
void process_count_fork(void)
{
	if (!atomic_load(&forks_noted) && __libc_single_threaded)
		return;
	atomic_store(&forks_noted, false);
	atomic_fetch_add(&process.forks, 1);
}

void process_before_fork(void)
{
	tick_ns = NS_A_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	forked_after_ns = boot_ns();
}

/*
 * We began after our parent looked at the clock, and before now. If that is one
 * tick, it is what /proc says, and nobody has to ask: that is the dearest call
 * of a fork but for the fork itself. 0: two ticks.
 */
static uint64_t start_by_clock(void)
{
	uint64_t from = forked_after_ns - CLOCK_SLACK_NS;
	uint64_t to = boot_ns() + CLOCK_SLACK_NS;

	if (forked_after_ns <= CLOCK_SLACK_NS ||
	    parent_start == PROCESS_HIDDEN ||
	    boot_ticks(from) != boot_ticks(to))
		return 0;
	return boot_ticks(to);
}

static void become_child(void)
{
	bool executed = false;

	parent_pid = process.pid;
	parent_start = process.start;
	process.pid = sys_getpid();
	process.start = start_by_clock();
	if (process.start == 0)
		process.start = process_life(process.pid, &executed);
	process.exec_shows = process.start != PROCESS_HIDDEN && !executed;
}

/* A new generation: what any thread remembers is its parent's. */
void process_forked(void)
{
	become_child();
	atomic_store(wiped_on_fork, ++generation);
}

void process_forked_bare(void)
{
	process.pid = parent_pid = 0;
	atomic_store(&process.begun, false);
	atomic_store(&lock_word, 0);
	atomic_store(wiped_on_fork, ++generation);
}

/* A process whose parent ends gets another parent in the same moment. */
bool process_is_parent(pid_t pid, uint64_t start)
{
	return pid == parent_pid && start == parent_start &&
	       SYS_CALL3(SYS_getppid, 0, 0, 0) == pid;
}

void (*process_on_copy)(void);

static uint32_t generation_now(void)
{
	return atomic_load_explicit(wiped_on_fork, memory_order_acquire);
}

/* Another thread of the parent may have held the lock: it is not here. Of the
 * threads of the copy one does this; the others wait until it is done. */
static void notice_copy(void)
{
	uint32_t tid = (uint32_t)sys_gettid();
	uint32_t none = 0;

	if (atomic_load(&noticing) == tid)
		return;
	if (!atomic_compare_exchange_strong(wiped_on_fork, &none,
					    GENERATION_COMES)) {
		while (generation_now() == GENERATION_COMES)
			SYS_CALL3(SYS_sched_yield, 0, 0, 0);
		return;
	}
	atomic_store(&noticing, tid);
	become_child();
	atomic_store(&lock_word, 0);
	if (process_on_copy)
		process_on_copy();
	atomic_store(wiped_on_fork, ++generation);
	atomic_store(&noticing, 0);
}

static bool is_unnoticed(uint32_t g)
{
	return g == 0 || g == GENERATION_COMES;
}

static __attribute__((noinline)) void find_tid(void)
{
	if (is_unnoticed(generation_now()))
		notice_copy();
	cached_tid = (uint32_t)sys_gettid();
	cached_generation = generation_now();
}

uint32_t process_tid(void)
{
	if (__builtin_expect(cached_generation != relaxed_load(wiped_on_fork),
			     0))
		find_tid();
	return cached_tid;
}

__thread char process_vforks;

/* Where vfork() is libc's own, it always may. */
#ifdef __x86_64__
static _Atomic bool shares_memory;
#else
static _Atomic bool shares_memory = true;
#endif

/* What libc takes this thread for; a child by vfork has its parent's id. */
static uint32_t libc_tid(void)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	uint32_t tid;

	pthread_mutex_lock(&m);
	tid = (uint32_t)m.__data.__owner;
	pthread_mutex_unlock(&m);
	return tid;
}

/* This is the answer before process_begin() has found out which process this
 * is. */
static bool is_foreign_before(void)
{
	return (process_vforks || atomic_load(&shares_memory)) &&
	       (uint32_t)sys_gettid() != libc_tid();
}

bool process_is_foreign(void)
{
	/* A confined process cannot tell such a child from itself, and nothing
	 * that could be done for the child is worth a call. */
	if (process.confined)
		return false;
	if (!process.begun)
		return is_foreign_before();
	if (is_unnoticed(generation_now())) {
		/* Its parent is told apart by itself. */
		if (process_vforks)
			return true;
		notice_copy();
	}
	return sys_getpid() != process.pid && wiped_on_fork != &never_wiped;
}

/* A child that shares it could not tell a copy apart. */
void process_will_share_memory(void)
{
	if (process.begun)
		process_tid();
	atomic_store(&shares_memory, true);
}

bool process_may_be_foreign(void)
{
	if (__builtin_expect(!process_vforks && !relaxed_load(&shares_memory) &&
				 !is_unnoticed(generation_now()),
			     1))
		return false;
	if (process_is_foreign())
		return true;
	process_vforks = 0;
	return false;
}

/* ---- the engine's lock ---- */

/* The holder's tid; CONTENDED says that somebody may be asleep. */
#define CONTENDED 0x80000000u

/*
 * Threads that make connections meet here for some microseconds each: a thread
 * that yields finds the lock free more often than not, where a sleep would cost
 * both of them a call and a wake-up. A processor that came back late is shared
 * with others, and a sleep is better then.
 */
#define YIELDS   20
#define YIELD_NS 50000u

static void lock_yield(void)
{
	uint64_t end = sys_end_in_ns(YIELD_NS);

	for (int i = 0; i < YIELDS && atomic_load(&lock_word) && !process.off;
	     i++) {
		SYS_CALL3(SYS_sched_yield, 0, 0, 0);
		if (sys_left_ns(end) == 0)
			return;
	}
}

static void lock_take(void)
{
	/* Sleeps end by the clock as well: simpler than to prove that no
	 * wake-up is ever lost, and the lock is rarely held for long. */
	static const struct timespec slice = {0, 50000000};
	uint32_t wanted = process_tid();
	uint32_t seen = 0;

	while (!atomic_compare_exchange_strong(&lock_word, &seen, wanted)) {
		for (int i = 0; i < 100 && atomic_load(&lock_word); i++)
			sys_relax();
		lock_yield();
		seen = atomic_load(&lock_word);
		if (seen && (seen & CONTENDED ||
			     atomic_compare_exchange_strong(
				 &lock_word, &seen, seen | CONTENDED))) {
			sys_futex_wait(&lock_word, seen | CONTENDED, &slice);
			/* Others may sleep as we did. */
			wanted |= CONTENDED;
		}
		seen = 0;
	}
}

#ifdef SMC_R_INJECT
/* A child of a fork has the lock of the thread that made it. */
void engine_assert_locked(const char *function)
{
	uint32_t holder = atomic_load(&lock_word) & ~CONTENDED;

	if (holder == process_tid() || (holder && lock_is_forks))
		return;
	fprintf(stderr, "smc_r: %s() without the engine lock\n", function);
	abort();
}
#endif

static void lock_leave(void)
{
	if (atomic_exchange(&lock_word, 0) & CONTENDED)
		sys_futex_wake(&lock_word, 1);
}

void engine_lock(void)
{
	uint64_t mask = 0;
	sigset_t all;

	sigfillset(&all);
	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask, sizeof(mask));
	lock_take();
	lock_mask = mask;
}

void engine_unlock(void)
{
	uint64_t mask = lock_mask;

	lock_leave();
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

void engine_lock_for_fork(void)
{
	engine_lock();
	lock_is_forks = true;
}

/* The child has none of the threads that may sleep on the lock. */
void engine_unlock_after_fork(bool child)
{
	lock_is_forks = false;
	if (child)
		atomic_store(&lock_word, 0);
	engine_unlock();
}
