/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* service_load: starts and stops the link service. */
#include "service_load.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "ofed_core/base/control.h"
#include "smc_r/far/far_status.h"

#define SERVICE   "smc_rc"
#define SHIM      "libofed_core.so"
#define VERBS     "/sys/class/infiniband_verbs"
#define UNLOAD_MS 3000

/* ---- is it there? ---- */

/* The process that listens; 0: there is none. */
static pid_t find_service(void)
{
	int channel = far_status_connect(rundir_path());
	struct ucred service = {.pid = 0};
	socklen_t n = sizeof(service);

	if (channel < 0)
		return 0;
	getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &service, &n);
	close(channel);
	return service.pid;
}

/* ---- loading ---- */

static bool kernel_has_device(void)
{
	DIR *d = opendir(VERBS);
	struct dirent *e;
	bool has = false;

	while (d && (e = readdir(d)))
		has |= strncmp(e->d_name, "uverbs", 6) == 0;
	if (d)
		closedir(d);
	return has;
}

static bool core_is_loaded(void)
{
	int fd = control_open(NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool take(const char *directory, const char *way, int mode, char *out,
		 size_t size)
{
	return snprintf(out, size, "%s/%s", directory, way) < (int)size &&
	       access(out, mode) == 0;
}

/* The file is in the build tree, or installed, as the library of smc_run. */
static bool find(const char *name, int mode, char *out, size_t size)
{
	char own[PATH_MAX], lib[NAME_MAX], deep[NAME_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	snprintf(lib, sizeof(lib), "../lib/%s", name);
	snprintf(deep, sizeof(deep), "../lib/smc_r/%s", name);
	return take(own, name, mode, out, size) ||
	       take(own, lib, mode, out, size) ||
	       take(own, deep, mode, out, size);
}

/* The core's devices are there for a process that has its shim. */
static void execute(const char *program, bool by_core)
{
	char shim[PATH_MAX];

	sigset_t none;

	/* The command is in the midst of a change. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	if (by_core && find(SHIM, R_OK, shim, sizeof(shim)))
		setenv("LD_PRELOAD", shim, 1);
	execl(program, SERVICE, (char *)NULL);
	fprintf(stderr, SERVICE ": %s: %s\n", program, strerror(errno));
	_exit(127);
}

static bool run(const char *program, bool by_core)
{
	int status = 1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		execute(program, by_core);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void load(const char *command)
{
	char program[PATH_MAX];
	bool by_core = !kernel_has_device() && core_is_loaded();

	if ((!by_core && !kernel_has_device()) || find_service() ||
	    !find(SERVICE, X_OK, program, sizeof(program)))
		return;
	if (!run(program, by_core))
		fprintf(stderr,
			"%s: " SERVICE " was not loaded: connections to other "
			"hosts stay on TCP\n",
			command);
}

static void unload(const char *command)
{
	pid_t pid = find_service();
	int handle = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd p = {.fd = handle, .events = POLLIN};

	if (handle < 0)
		return;
	if (kill(pid, SIGTERM) < 0 || poll(&p, 1, UNLOAD_MS) != 1)
		fprintf(stderr,
			"%s: " SERVICE " (pid %ld) was not unloaded: kill it\n",
			command, (long)pid);
	close(handle);
}

void service_follow(const char *command, bool available)
{
	if (available)
		load(command);
	else
		unload(command);
}
