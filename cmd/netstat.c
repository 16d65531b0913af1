/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netstat: statistics of the protocol SMC-R, and of its device.
 *
 * Stands in front of the netstat of net-tools, and gives it what is about
 * anything else.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conf/devconf.h"
#include "conf/rundir.h"

#include "output.h"
#include "pass_on.h"
#include "statistics.h"
#include "version.h"

static const char usage[] =
    "Usage: netstat -s -p smc\n"
    "       netstat -v smc_r0\n"
    "Shows the statistics of SMC-R.\n"
    "\n"
    "  -s  counters of the protocol that -p names; -ss leaves out zeros\n"
    "  -p  the protocol: smc\n"
    "  -v  what entstat shows of the device\n"
    "  -h  this text\n"
    "\n"
    "With anything else the netstat of the package net-tools is run.\n";

/* The flags ask for this. Those of net-tools are not known here. */
struct request {
	bool is_smc;
	char *device;
	unsigned s_count, v_count;
};

static unsigned count_letter(const char *word, char letter)
{
	unsigned count = 0;

	for (; *word; word++)
		count += *word == letter;
	return count;
}

static void read_words(int argc, char **argv, struct request *r)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (word[0] == '-' && word[1] != '-') {
			r->s_count += count_letter(word, 's');
			r->v_count += count_letter(word, 'v');
			continue;
		}
		if (strcmp(word, DEVCONF_DEVICE) == 0)
			r->device = argv[i];
		if (strcmp(word, "smc") == 0 &&
		    argv[i - 1][strlen(argv[i - 1]) - 1] == 'p')
			r->is_smc = true;
	}
	/* net-tools would not look at a name that stands for nothing here. */
	if (argc == 3 && strcmp(argv[1], "-v") == 0 && argv[2][0] != '-' &&
	    if_nametoindex(argv[2]) == 0)
		r->device = argv[2];
}

static void print_protocol(const struct statistics *s, bool leaves_zeros_out)
{
	const struct status_counters *c = &s->sum.counters;
	const struct {
		uint64_t value;
		const char *words;
	} lines[] = {
	    {c->client_connections, "connection requests"},
	    {c->server_connections, "connection accepts"},
	    {c->smc_connections, "connections established over SMC-R"},
	    {c->tcp_connections, "connections left on TCP"},
	    {c->demoted, "connections moved back to TCP"},
	    {s->sum.active, "connections active now"},
	    {c->handshake_errors, "handshake errors"},
	    {c->declines_sent, "declines sent"},
	    {c->declines_received, "declines received"},
	    {c->requests_sent, "send requests"},
	    {c->bytes_sent, "bytes sent"},
	    {c->requests_received, "receive requests"},
	    {c->bytes_received, "bytes received"},
	    {c->first_contacts, "link groups made"},
	    {c->reuses, "link groups used again"},
	    {c->rmbs_made, "RMBs allocated"},
	    {c->rmbs_freed, "RMBs freed"},
	    {c->buffer_full, "times that a buffer was full"},
	};

	fputs("smc:\n", stdout);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i].value || !leaves_zeros_out)
			printf("\t%" PRIu64 " %s\n", lines[i].value,
			       lines[i].words);
}

static int show_protocol(const struct request *r)
{
	struct statistics s;
	int error = statistics_read(rundir_path(), DEVCONF_DEVICE, &s);

	if (error == -ENOENT) {
		fprintf(stderr,
			"netstat: " DEVCONF_DEVICE " is not Available in %s. "
			"Make it so with mkdev -c tcpip -t smc_r\n",
			rundir_path());
		return 1;
	}
	if (error) {
		fprintf(stderr, "netstat: %s: %s\n", rundir_path(),
			strerror(-error));
		return 1;
	}
	print_protocol(&s, r->s_count > 1);
	statistics_free(&s);
	return output_end("netstat", 0, 1);
}

static int cannot_pass_on(const char *name, const char *package)
{
	fprintf(stderr,
		"netstat: there is no %s on PATH, which is of the package %s. "
		"This one knows\n\tnetstat -s -p smc and "
		"netstat -v " DEVCONF_DEVICE ".\n",
		name, package);
	return 1;
}

int main(int argc, char **argv)
{
	static char entstat[] = "entstat";
	struct request r = {.is_smc = false};
	int status;

	if (version_answer("netstat", argc, argv, &status))
		return status;
	if (argc == 2 && strcmp(argv[1], "-h") == 0) {
		fputs(usage, stdout);
		return output_end("netstat", 0, 1);
	}
	read_words(argc, argv, &r);
	if (r.is_smc && r.s_count)
		return show_protocol(&r);
	if (r.device && r.v_count) {
		char *const of_device[] = {entstat, r.device, NULL};

		pass_on(entstat, of_device);
		return cannot_pass_on(entstat, "smc-r");
	}
	pass_on("netstat", argv);
	return cannot_pass_on("other netstat", "net-tools");
}
