/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_run: runs a program with the SMC-R library loaded.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/rundir.h"

#include "output.h"
#include "run_child.h"
#include "run_engine.h"
#include "run_library.h"
#include "run_report.h"
#include "version.h"

/* As env(1), nice(1) and their kin have it. */
#define EXIT_OURS       125
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127

static const char usage[] =
    "Usage: smc_run [-v] [-h] [--] COMMAND [ARGUMENT]...\n"
    "Runs COMMAND with its matching TCP connections on SMC-R.\n"
    "\n"
    "  -v  say at the end, on standard error, how many connections were on\n"
    "      SMC and why the others were not, and which engine serves where\n"
    "      there are several; twice: and what to change\n"
    "  -h  this text\n"
    "\n"
    "Environment: SMC_R_LIBRARY (the library to load), SMC_R_RUNDIR.\n"
    "Exit status: that of COMMAND; 125 when smc_run fails, 126 when COMMAND\n"
    "cannot be run, 127 when it is not found.\n";

/* Engines accept nothing but an absolute path, and COMMAND may change its
 * working directory. */
static int make_rundir_absolute(void)
{
	const char *rundir = getenv(RUNDIR_VARIABLE);
	char *cwd, *path = NULL;
	int error = 0;

	if (!rundir || !*rundir || *rundir == '/')
		return 0;
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return -errno;
	if (asprintf(&path, "%s/%s", cwd, rundir) < 0)
		error = -ENOMEM;
	else if (setenv(RUNDIR_VARIABLE, path, 1) != 0)
		error = -errno;
	free(cwd);
	free(path);
	return error;
}

static bool is_refused(const char *program)
{
	char path[PATH_MAX];

	return run_library_program(program, path, sizeof(path)) == 0 &&
	       run_library_is_refused(path);
}

struct choice {
	char library[PATH_MAX]; /* the engine that will serve */
	bool is_there;          /* although nobody names it */
	bool is_behind;         /* of those that are there another is first */
	bool has_rivals;        /* another one would, were it alone */
};

/* Where the host has an engine in every program, and nobody asks for another
 * one, that serves; a second one would only stand aside. */
static int choose(struct choice *choice)
{
	const char *asked = getenv(RUN_LIBRARY_VARIABLE);
	char ours[PATH_MAX] = "", first[PATH_MAX], why[3 * PATH_MAX];
	int error = run_library_find(ours, sizeof(ours), why, sizeof(why));
	bool has_first = run_engine_first(first);

	choice->is_there =
	    has_first && !(asked && *asked) && run_engine_of_host();
	if (error && !choice->is_there)
		fprintf(stderr, "smc_run: %s\n", why);
	strcpy(choice->library, choice->is_there ? first : ours);
	choice->is_behind = has_first && strcmp(first, choice->library) != 0;
	choice->has_rivals = strcmp(ours, choice->library) != 0 ||
			     run_engine_is_beside(choice->library);
	return choice->is_there ? 0 : error;
}

static int prepare(const char *program, const struct choice *choice)
{
	char library[PATH_MAX];
	int error = 0;

	if (is_refused(program))
		return 0;
	if (!choice->is_there)
		error = run_library_preload(choice->library, choice->is_behind);
	if (error == -EINVAL) {
		fprintf(stderr,
			"smc_run: %s: LD_PRELOAD cannot hold a path with "
			"blanks or colons; move the library\n",
			choice->library);
		return error;
	}
	/* With an RDMA core, its devices too. */
	if (!error && run_library_rdma(library, sizeof(library)) == 0)
		error = run_library_preload(library, false);
	if (!error)
		error = make_rundir_absolute();
	if (error)
		fprintf(stderr, "smc_run: cannot set the environment: %s\n",
			strerror(-error));
	return error;
}

static int cannot_run(const char *program, int error)
{
	fprintf(stderr, "smc_run: %s: %s\n", program, strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static void warn_of_obstacle(const char *program)
{
	char path[PATH_MAX];
	const char *obstacle = NULL;

	if (run_library_program(program, path, sizeof(path)) == 0)
		obstacle = run_library_obstacle(path);
	if (obstacle)
		fprintf(stderr,
			"smc_run: %s %s: the SMC-R library cannot be loaded "
			"there, its connections stay on TCP\n",
			path, obstacle);
}

static int run_and_report(char **argv, const struct choice *choice, bool cures)
{
	char reporter[16];
	int error, status;

	warn_of_obstacle(argv[0]);
	snprintf(reporter, sizeof(reporter), "%d", (int)getpid());
	if (setenv("SMC_R_REPORTER", reporter, 1) != 0)
		return EXIT_OURS;
	error = run_child(argv, &status);
	if (error)
		return cannot_run(argv[0], -error);
	run_report(stderr, getpid(), argv[0], cures);
	if (choice->has_rivals)
		fprintf(stderr,
			"smc_run: of several engines this one serves: %s\n",
			choice->library);
	run_child_imitate(status);
}

int main(int argc, char **argv)
{
	struct choice choice;
	int verbose = 0;
	int option;
	int status;

	if (version_answer("smc_run", argc, argv, &status))
		return status;
	while ((option = getopt(argc, argv, "+vh")) != -1) {
		switch (option) {
		case 'v':
			verbose++;
			break;
		case 'h':
			fputs(usage, stdout);
			return output_end("smc_run", 0, EXIT_OURS);
		default:
			fputs(usage, stderr);
			return EXIT_OURS;
		}
	}
	argv += optind;
	if (!*argv) {
		fputs(usage, stderr);
		return EXIT_OURS;
	}
	if (choose(&choice) != 0 || prepare(argv[0], &choice) != 0)
		return EXIT_OURS;
	if (verbose)
		return run_and_report(argv, &choice, verbose > 1);
	execvp(argv[0], argv);
	return cannot_run(argv[0], errno);
}
