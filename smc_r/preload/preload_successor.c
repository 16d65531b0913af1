/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* preload_successor: exec, spawn, stdio: descriptors that go elsewhere. */
#include "smc_r/preload/preload.h"

#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "smc_r/connection/passthrough.h"
#include "smc_r/connection/socket_history.h"
#include "smc_r/os/process.h"
#include "smc_r/preload/engine.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/socket/socket_close.h"
#include "smc_r/socket/successor.h"

extern char **environ;

/* ---- fork ---- */

/* The handlers of pthread_atfork do not learn that it failed. */
PRELOAD_HOT pid_t fork(void)
{
	pid_t pid;
	int error;

	real_need();
	pid = real.fork();
	if (pid >= 0)
		return pid;
	error = errno;
	engine_fork_failed();
	errno = error;
	return pid;
}

/* Runs no handlers. */
PRELOAD pid_t _Fork(void)
{
	pid_t pid;
	int error;

	real_need();
	if (!real._Fork) {
		errno = ENOSYS;
		return -1;
	}
	engine_before_fork();
	pid = real._Fork();
	error = errno;
	engine_after_fork(pid);
	errno = error;
	return pid;
}

/* ---- exec ---- */

/* On the stack of the caller, as exec may follow vfork. */
#define PREPARE(from, file, in_path, env, successor)                           \
	do {                                                                   \
		struct exec_image image = {from, file, in_path, env};          \
		enum exec_words words = successor_exec(&image, successor);     \
		if (words != EXEC_AS_IS)                                       \
			(env) = exec_check_environment(                        \
			    words, env,                                        \
			    alloca(exec_check_environment_bytes(env)));        \
	} while (0)

PRELOAD int execve(const char *path, char *const argv[], char *const env[])
{
	PREPARE(AT_FDCWD, path, false, env, SUCCESSOR_INHERITS);
	return real.execve(path, argv, env);
}

PRELOAD int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD int execvpe(const char *file, char *const argv[], char *const env[])
{
	PREPARE(AT_FDCWD, file, true, env, SUCCESSOR_INHERITS);
	real_need();
	return real.execvpe(file, argv, env);
}

PRELOAD int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

PRELOAD int execveat(int dir, const char *path, char *const argv[],
		     char *const env[], int flags)
{
	PREPARE(dir, path, false, env, SUCCESSOR_INHERITS);
	return real.execveat(dir, path, argv, env, flags);
}

PRELOAD int fexecve(int fd, char *const argv[], char *const env[])
{
	PREPARE(fd, "", false, env, SUCCESSOR_INHERITS);
	real_need();
	return real.fexecve(fd, argv, env);
}

/* The argument lists of execl and its kin: counted, then laid out. */
static size_t count_arguments(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, const char *))
		n++;
	return n;
}

static void lay_out(const char **out, const char *first, va_list ap)
{
	*out++ = first;
	do {
		*out = va_arg(ap, const char *);
	} while (*out++);
}

#define ARGUMENTS(first, argv)                                                 \
	const char **argv;                                                     \
	va_list ap;                                                            \
	va_start(ap, first);                                                   \
	argv = alloca((count_arguments(ap) + 2) * sizeof(*argv));              \
	va_end(ap);                                                            \
	va_start(ap, first);                                                   \
	lay_out(argv, first, ap)

PRELOAD int execl(const char *path, const char *first, ...)
{
	ARGUMENTS(first, argv);
	va_end(ap);
	return execv(path, (char *const *)(uintptr_t)argv);
}

PRELOAD int execlp(const char *file, const char *first, ...)
{
	ARGUMENTS(first, argv);
	va_end(ap);
	return execvp(file, (char *const *)(uintptr_t)argv);
}

PRELOAD int execle(const char *path, const char *first, ...)
{
	char *const *env;

	ARGUMENTS(first, argv);
	env = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, (char *const *)(uintptr_t)argv, env);
}

/* ---- spawn ---- */

PRELOAD int posix_spawn(pid_t *restrict pid, const char *restrict path,
			const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *restrict attr,
			char *const argv[restrict], char *const env[restrict])
{
	PREPARE(AT_FDCWD, path, false, env, SUCCESSOR_BESIDE);
	real_need();
	return real.posix_spawn(pid, path, actions, attr, argv, env);
}

PRELOAD int posix_spawnp(pid_t *restrict pid, const char *restrict file,
			 const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *restrict attr,
			 char *const argv[restrict], char *const env[restrict])
{
	PREPARE(AT_FDCWD, file, true, env, SUCCESSOR_BESIDE);
	real_need();
	return real.posix_spawnp(pid, file, actions, attr, argv, env);
}

/* A spawned program gets it under another number, close-on-exec or not. */
PRELOAD int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *a,
					     int from, int to)
{
	successor_descriptor(from, REASON_DEMOTED_EXEC);
	real_need();
	return real.posix_spawn_file_actions_adddup2(a, from, to);
}

/* ---- stdio: libc reads and writes below us ---- */

PRELOAD FILE *fdopen(int fd, const char *mode)
{
	successor_descriptor(fd, REASON_DEMOTED_STDIO);
	if (!process.off)
		socket_history_stream(fd);
	real_need();
	return real.fdopen(fd, mode);
}

/* The descriptor is closed inside libc, unseen. */
static void forget_stream(FILE *f)
{
	int error = errno;
	int fd = f ? fileno(f) : -1;

	if (fd >= 0)
		socket_history_gone(fd);
	if (fd >= 0 && fdtable_get(fd) && !socket_drop(fd))
		socket_forget(fd);
	if (passthrough_is(fd))
		passthrough_drop(fd);
	errno = error;
}

PRELOAD int fclose(FILE *f)
{
	int fd = f && fdtable ? fileno(f) : -1;

	/* What it holds back goes while the number is known. */
	if (fd >= 0 && (connection_of(fd) || passthrough_is(fd)))
		fflush(f);
	forget_stream(f);
	real_need();
	return real.fclose(f);
}

PRELOAD FILE *freopen(const char *restrict path, const char *restrict mode,
		      FILE *restrict f)
{
	forget_stream(f);
	real_need();
	return real.freopen(path, mode, f);
}

PRELOAD FILE *freopen64(const char *restrict path, const char *restrict mode,
			FILE *restrict f)
{
	forget_stream(f);
	real_need();
	return real.freopen64(path, mode, f);
}
