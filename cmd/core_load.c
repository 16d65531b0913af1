/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* core_load: starts the RDMA core. */
#include "core_load.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/tunables.h"
#include "ofed_core/base/control.h"

#include "core_access.h"
#include "core_settings.h"
#include "cure.h"

/* For the core, as it starts: which version of RoCE it speaks. */
#define ROCE_VARIABLE "OFED_CORE_ROCE_V2_MODE"

static bool take_program(const char *directory, const char *way, char *out,
			 size_t size)
{
	return snprintf(out, size, "%s/%s", directory, way) < (int)size &&
	       access(out, X_OK) == 0;
}

/* The program is in the build tree, or installed, as the library of smc_run. */
static bool find_program(char *out, size_t size)
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[n > 0 ? n : 0] = '\0';
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	return take_program(own, CORE, out, size) ||
	       take_program(own, "../lib/" CORE, out, size) ||
	       take_program(own, "../lib/smc_r/" CORE, out, size);
}

/* The version of RoCE that `no -r` asked for: 0, or 1 and it was said why. */
static int prepare_roce(long *value)
{
	const struct tunable *t = tunables_find("roce_v2_mode");
	char digits[16], dir[PATH_MAX] = "";
	unsigned line;
	int error = tunables_get(TUNABLES_NEXTBOOT, t, value, &line);

	if (error) {
		tunables_dir(dir, sizeof(dir));
		fprintf(stderr, "ofedctrl: %s/" TUNABLES_NEXTBOOT, dir);
		if (line)
			fprintf(stderr,
				", line %u: roce_v2_mode cannot be read; "
				"correct the line, or remove it\n",
				line);
		else
			fprintf(stderr, ": %s. %s\n", strerror(-error),
				cure_of(error, TUNABLES_VARIABLE));
		return 1;
	}
	snprintf(digits, sizeof(digits), "%ld", *value);
	return setenv(ROCE_VARIABLE, digits, 1) == 0 ? 0 : 1;
}

/*
 * What the no command shows as the current value. An ordinary user who runs a
 * core of his own may have no right to note it.
 */
static void note_roce(long value)
{
	const struct tunable *t = tunables_find("roce_v2_mode");
	unsigned line;
	long noted;

	if (tunables_get(TUNABLES_LASTBOOT, t, &noted, &line) == 0 &&
	    noted == value)
		return;
	tunables_put(TUNABLES_LASTBOOT, t, value);
}

static int run_core(const char *program)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		execl(program, CORE, (char *)NULL);
		fprintf(stderr, "ofedctrl: %s: %s\n", program, strerror(errno));
		_exit(127);
	}
	if (child < 0) {
		fprintf(stderr, "ofedctrl: fork: %s\n", strerror(errno));
		return 1;
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return 1;
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "ofedctrl: %s was ended by signal %d\n",
			program, WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

int core_check_program(const char *named)
{
	const char *why = NULL;
	struct stat st;

	if (stat(named, &st) != 0)
		why = strerror(errno);
	else if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		why = "it is not a program";
	else if (access(named, X_OK) != 0)
		why = strerror(errno);
	if (why)
		fprintf(stderr,
			"ofedctrl: %s: %s; -k names the program of the "
			"core; leave it out, and it is the installed one\n",
			named, why);
	return why ? 1 : 0;
}

/* A core is loaded already: the one that is meant? */
static int say_loaded(int fd, const char *named)
{
	bool is_meant = core_runs(fd, named);

	close(fd);
	if (is_meant)
		fprintf(stderr, "ofedctrl: " CORE " is already loaded\n");
	else
		fprintf(stderr,
			"ofedctrl: another core than %s is loaded; "
			"unload it first with ofedctrl -u\n",
			named);
	return is_meant ? 0 : 1;
}

int core_load(const char *named)
{
	char program[PATH_MAX];
	long roce;
	int fd;

	if (core_check_file() != 0)
		return 1;
	fd = control_open(NULL);
	if (fd >= 0)
		return say_loaded(fd, named);
	if (!named && !find_program(program, sizeof(program))) {
		fprintf(stderr,
			"ofedctrl: the RDMA core (" CORE ") is not part of "
			"this installation; name its program with -k\n");
		return 1;
	}
	if (prepare_roce(&roce) != 0 || run_core(named ? named : program) != 0)
		return 1;
	note_roce(roce);
	return 0;
}
