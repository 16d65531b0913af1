/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * process: the identity of this process, and the few things every part of the
 * engine shares: the engine's lock, descriptors out of the way.
 *
 * Locking: engine_lock guards all that is not the data path: tables, link
 *          groups, handshakes, slots. Signals are blocked while it is held,
 *          so a handler can neither enter twice nor jump out of it. Order:
 *          engine lock first, then the lock of a stream.
 */
#ifndef SMC_R_PROCESS_H
#define SMC_R_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "smc_r/os/relaxed.h"
#include "smc_r/os/status.h"

struct process {
	pid_t pid;          /* as of the last fork that we saw; 0: not begun */
	uint64_t start;     /* field 22 of /proc/<pid>/stat */
	bool off;           /* SMC_R=0, or it left for good */
	bool confined;      /* it left, and may make no calls but its own */
	_Atomic bool begun; /* engine_begin() */
	bool exec_shows; /* /proc would tell, if this fork executed a program */
	char program[STATUS_PROGRAM_MAX]; /* as it was started */
	unsigned spin_us;                 /* longest spin before a sleep */
	unsigned stall_ms; /* longest wait for room that nobody makes, 0: any */
	unsigned handshake_ms; /* longest wait for the peer's part of it */
	/* That we saw, and that it has come from; those after which nobody has
	 * looked are counted as one (process_note_forks). */
	_Atomic uint32_t forks;
	pid_t reporter; /* SMC_R_REPORTER: smc_run -v, or 0 */
};

/* What the environment said at the start; programs may overwrite it. */
extern struct process process;

/* Called by the constructor: no system call. */
void process_read_environment(void);
/* Finds out which process this is; engine_begin() does so at the first connect,
 * listen or accept. */
void process_begin(void);
/* The last part of the name of its file, which a program cannot change: "" if
 * the kernel does not tell. Engine lock held. */
const char *process_executable(void);
/* Both, for what uses parts of the engine alone. */
void process_init(void);
/* The count of forks, to be compared with a later one; and one more. */
uint32_t process_note_forks(void);
void process_count_fork(void);
/* Called before each fork, and in its child. */
void process_before_fork(void);
void process_forked(void);
/* Is called in the child instead of process_forked(), without a system call, if
 * the parent has nothing of ours yet: the child begins anew. */
void process_forked_bare(void);

/* Called once in a child that no fork handler saw, when it is noticed. The
 * engine's lock is free then. */
extern void (*process_on_copy)(void);

/* Thread id, without a system call after the first time. Notices that this is
 * a child which no fork handler saw (clone by number). */
uint32_t process_tid(void);

/* True when the kernel says that this thread runs no more: it is not there, or
 * nobody has waited for it yet. False also when the kernel does not tell. */
bool process_thread_is_dead(uint32_t tid);

/* True in a child that shares our memory (vfork, CLONE_VM): tables must not be
 * touched there, they are the parent's. */
bool process_is_foreign(void);

/*
 * True in the child of a process that had nothing of ours to pass on: the child
 * writes to one page (fork_page.h), and is told apart at its first call that
 * needs to know (process_on_copy). Until then its tables are its parent's, in
 * memory of its own: it may drop from them.
 */
extern bool process_is_empty_copy;

/*
 * Answers without a system call where no such child can be: none of vfork()
 * runs on this thread's variables, and nobody called clone() with CLONE_VM.
 * What a program makes by instructions of its own is not known.
 */
bool process_may_be_foreign(void);
/* Counted by vfork() (preload_vfork.c); its child has the variables of the
 * thread, which does not run meanwhile. */
extern __thread char process_vforks;
/* Called by clone(): such a child may live as long as it likes. */
void process_will_share_memory(void);

/* Start time of a process, 0 when there is none, or it ended and nobody has
 * waited for it yet; PROCESS_HIDDEN when there is one and the kernel does not
 * tell (hidepid, no /proc). */
#define PROCESS_HIDDEN UINT64_MAX
uint64_t process_start_time(pid_t pid);
/* Is there none of this number, or only what nobody has waited for? That is
 * found out without /proc, in a tenth of the time. */
bool process_has_ended(pid_t pid);
/* Is it the process that began then? Where that is hidden: better a dead one
 * too many than a living one too few. */
bool process_is_same(pid_t pid, uint64_t start);
/* And has it executed nothing since it was forked? */
bool process_is_same_program(pid_t pid, uint64_t start);
/* The process that forked this one, and has not ended. One call; false also
 * when that does not tell. */
bool process_is_parent(pid_t pid, uint64_t start);
/* A directory /proc that a chroot cannot take away. */
void process_keep_proc(int fd);
/* A description of its own for what this thread has as fd, close-on-exec;
 * -errno, where there is no /proc -ENOENT. */
int process_reopen(int fd, int flags);

/* Blocks signals until the unlock. Never nests. */
void engine_lock(void);
/* Functions whose headers say that the engine lock is held say so by this. The
 * test flavour "inject" aborts where it is not held by this thread. */
#ifdef SMC_R_INJECT
void engine_assert_locked(const char *function);
#define ENGINE_LOCKED() engine_assert_locked(__func__)
#else
#define ENGINE_LOCKED() ((void)0)
#endif
void engine_unlock(void);
/* For pthread_atfork: hold the lock over the fork, release it in both. */
void engine_lock_for_fork(void);
void engine_unlock_after_fork(bool child);

/*
 * Moves fd out of the program's way, close-on-exec: above the soft limit of
 * descriptors when the hard limit allows, else high up. Returns the new
 * number, or -errno and fd is closed. -EMFILE also when the program would be
 * left with less than half of its descriptors, or an eighth of many.
 */
int private_fd(int fd);
/*
 * Before the first thread: the kernel's table of numbers grows at once, so that
 * it does not when there are threads, which then takes some 10 milliseconds.
 * Nothing where that was done, or would cost much for numbers so high.
 */
void private_fd_make_room(void);
void private_fd_close(int fd);
/* It is closed, and was not known to be; -1: there is none. */
void private_fd_forget(int fd);
/* Closes several, all of them ours: those whose numbers follow each other cost
 * one call. */
void private_fd_close_all(const int *fds, unsigned count);
/* Could so many more be had? Before what is of no use without them. */
bool private_fd_has_room(unsigned more);
/* Would so many more leave the program, and what follows, plenty? */
bool private_fd_has_plenty(unsigned more);

/* A program that gets this number, or a higher one, will soon have none left,
 * and some of ours are in its way. */
extern _Atomic int private_fd_few_from;
extern _Atomic unsigned private_fd_count;

/* How many are open. */
static inline unsigned private_fd_in_use(void)
{
	return relaxed_load(&private_fd_count);
}

/* The program has no number left: as many are to be given back then, or 0, as
 * all of ours lie above its soft limit. Engine lock held. */
unsigned private_fd_in_the_way(void);

/*
 * Around calls that make many descriptors before they are moved: a program that
 * uses nearly all that its soft limit allows has no numbers left for them, but
 * the hard limit may. The limit is asked for once then, and not for each of
 * them. Engine lock held; they nest.
 */
void private_fd_begin(void);
void private_fd_end(void);

#endif
