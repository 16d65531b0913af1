/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * entstat: statistics of the SMC-R device.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attrdb/device.h"
#include "conf/devconf.h"
#include "conf/rundir.h"
#include "smc_r/far/far_status.h"
#include "smc_r/status/baseline.h"

#include "cure.h"
#include "output.h"
#include "statistics.h"
#include "version.h"

#define LOCK_WAIT_MS 2000

static const char usage[] =
    "Usage: entstat [-d] [-r] [-t] [-j] Device_Name\n"
    "Shows the statistics of an SMC-R device.\n"
    "\n"
    "  -d  all counters, why connections are on TCP, link groups and\n"
    "      connections\n"
    "  -r  reset the counters after they were shown (root, or the owner of\n"
    "      the run directory)\n"
    "  -t  toggle the debug trace; the SMC-R device has none\n"
    "  -j  JSON, with everything that -d shows\n"
    "  -h  this text\n";

struct options {
	bool detailed, reset, trace, json;
};

/* Where the device stands when it has published nothing. */
static bool is_defined(const char *device)
{
	const struct attrdb_place place = {
	    .dir = attrdb_dir(),
	    .mode = ATTRDB_READ,
	    .lock_wait_ms = LOCK_WAIT_MS,
	};
	struct attrdb_device found;
	struct attrdb *db;
	char why[256];
	bool yes;

	if (attrdb_open(&db, &place, why, sizeof(why)) != 0)
		return false;
	yes = attrdb_device_get(db, device, &found) == 0 &&
	      strcmp(found.uniquetype, DEVCONF_UNIQUETYPE) == 0;
	attrdb_close(db);
	return yes;
}

static int cannot_connect(const char *device, int error)
{
	fprintf(stderr,
		"entstat: 0909-003 Unable to connect to device %s, "
		"errno = %d\n",
		device, error);
	return 1;
}

static int explain_failure(const char *device, int error)
{
	const char *rundir = rundir_path();

	if (error == -ENOENT) {
		cannot_connect(device, ENODEV);
		if (is_defined(device))
			fprintf(stderr,
				"\tThe device is not Available in %s. "
				"Configure it with mkdev -l %s\n",
				rundir, device);
		else if (strcmp(device, DEVCONF_DEVICE) == 0)
			fprintf(stderr, "\tThere is no such device. Make it "
					"with mkdev -c tcpip -t smc_r\n");
		return 1;
	}
	cannot_connect(device, -error);
	if (error == -EPERM)
		fprintf(stderr,
			"\t%s/" RUNDIR_SNAPSHOT " belongs neither to root nor "
			"to the owner of %s\n",
			rundir, rundir);
	else if (error == -EPROTO)
		fprintf(stderr,
			"\t%s/" RUNDIR_SNAPSHOT " is damaged. Configure the "
			"device again: rmdev -l %s, mkdev -l %s\n",
			rundir, device, device);
	else
		fprintf(stderr, "\t%s: %s. %s\n", rundir, strerror(-error),
			cure_of(error, RUNDIR_VARIABLE));
	return 1;
}

static bool may_reset(const char *rundir)
{
	struct stat st;

	return geteuid() == 0 ||
	       (stat(rundir, &st) == 0 && st.st_uid == geteuid());
}

static int reset(const char *rundir, const struct statistics *s)
{
	int error = baseline_write(rundir, &s->absolute);

	if (error)
		fprintf(stderr,
			"entstat: the statistics of %s were not reset: "
			"%s/baseline: %s. %s\n",
			s->device, rundir, strerror(-error),
			cure_of(error, RUNDIR_VARIABLE));
	return error ? 1 : 0;
}

/* The counters of the link service are not in the baseline: they are as old as
 * that, at most. */
static int reset_service(const char *rundir)
{
	int channel = far_status_connect(rundir);
	struct far_status s;
	int error;

	if (channel < 0)
		return 0;
	error = far_status_ask(channel, FAR_RESET, &s);
	close(channel);
	if (error)
		fprintf(stderr,
			"entstat: the counters of smc_rc were not reset: %s. "
			"%s\n",
			strerror(-error), cure_of(error, RUNDIR_VARIABLE));
	return error ? 1 : 0;
}

static int show(const char *rundir, const char *device,
		const struct options *options)
{
	struct statistics s;
	int result = statistics_read(rundir, device, &s);

	if (result)
		return explain_failure(device, result);
	if (options->json)
		result = statistics_print_json(stdout, &s);
	else
		statistics_print(stdout, &s, options->detailed);
	if (result)
		fprintf(stderr, "entstat: %s\n", strerror(-result));
	else
		result = output_end("entstat", 0, 1);
	if (!result && options->reset)
		result = reset(rundir, &s) || reset_service(rundir);
	statistics_free(&s);
	return result ? 1 : 0;
}

static int run(const char *device, const struct options *options)
{
	const char *rundir = rundir_path();

	if (strcmp(device, DEVCONF_DEVICE) != 0) {
		cannot_connect(device, ENODEV);
		fprintf(stderr, "\tStatistics are kept of " DEVCONF_DEVICE
				" only: entstat " DEVCONF_DEVICE "\n");
		return 1;
	}
	if (rundir_refused()) {
		fprintf(stderr,
			"entstat: " RUNDIR_VARIABLE " must be an absolute "
			"path: %s\n",
			rundir_refused());
		return 1;
	}
	if (options->trace) {
		fprintf(stderr,
			"entstat: %s has no debug trace to toggle; use "
			"smc_run -v to see why a program is on TCP\n",
			device);
		return 1;
	}
	if (options->reset && !may_reset(rundir)) {
		fprintf(stderr,
			"entstat: only root and the owner of %s may reset the "
			"statistics of %s\n",
			rundir, device);
		return 1;
	}
	return show(rundir, device, options);
}

int main(int argc, char **argv)
{
	struct options options = {.detailed = false};
	int option;
	int status;

	if (version_answer("entstat", argc, argv, &status))
		return status;
	while ((option = getopt(argc, argv, "drtjh")) != -1) {
		switch (option) {
		case 'd':
			options.detailed = true;
			break;
		case 'r':
			options.reset = true;
			break;
		case 't':
			options.trace = true;
			break;
		case 'j':
			options.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return output_end("entstat", 0, 1);
		default:
			fputs(usage, stderr);
			return 1;
		}
	}
	if (argc - optind != 1) {
		fputs(usage, stderr);
		return 1;
	}
	return run(argv[optind], &options);
}
