/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * run_report: what became of the connections of one run, in one line.
 */
#include "run_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "conf/snapshot.h"
#include "smc_r/protocol/reason.h"
#include "smc_r/status/account.h"
#include "smc_r/status/status_read.h"
#include "smc_r/status/status_sweep.h"

#define NAME "smc_run"

/* ---- Connections there were --------------------------------------------- */

static int count_reasons(const struct status_counters *c)
{
	int i, n = 0;

	for (i = 0; i < REASON_COUNT; i++)
		n += c->fallbacks[i] != 0;
	return n;
}

/* One reason needs no count of its own. */
static void print_reasons(FILE *out, const struct status_counters *c)
{
	bool many = count_reasons(c) > 1;
	const char *mark = ": ";
	int i;

	for (i = 0; i < REASON_COUNT; i++) {
		uint32_t code = reason_code(i);

		if (!c->fallbacks[i])
			continue;
		fputs(mark, out);
		if (many)
			fprintf(out, "%" PRIu64 " x ", c->fallbacks[i]);
		fprintf(out, "%s (0x%08" PRIX32 ")", reason_text(code), code);
		mark = ", ";
	}
}

static void print_cures(FILE *out, const struct status_counters *c)
{
	int i;

	for (i = 0; i < REASON_COUNT; i++) {
		if (c->fallbacks[i])
			fprintf(out, NAME ": 0x%08" PRIX32 " %s: %s\n",
				reason_code(i), reason_name(reason_code(i)),
				reason_cure(reason_code(i)));
	}
}

static void print_sum(FILE *out, const struct status_sum *sum)
{
	const struct status_counters *c = &sum->counters;
	uint64_t all = c->client_connections + c->server_connections;
	uint64_t decided = c->smc_connections + c->tcp_connections;

	fprintf(out, NAME ": %" PRIu64 " connection%s: %" PRIu64 " SMC", all,
		all == 1 ? "" : "s", c->smc_connections);
	if (c->demoted)
		fprintf(out, " (%" PRIu64 " went back to TCP)", c->demoted);
	if (c->tcp_connections)
		fprintf(out, ", %" PRIu64 " TCP", c->tcp_connections);
	if (all > decided)
		fprintf(out, ", %" PRIu64 " undecided", all - decided);
	if (sum->processes)
		fprintf(out, ", %u process%s still running", sum->processes,
			sum->processes == 1 ? "" : "es");
	print_reasons(out, c);
	fputc('\n', out);
}

/* ---- No connection: the first cause ------------------------------------- */

static void print_address(FILE *out, const struct in6_addr *a)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (IN6_IS_ADDR_V4MAPPED(a))
		inet_ntop(AF_INET, &a->s6_addr[12], text, sizeof(text));
	else
		inet_ntop(AF_INET6, a, text, sizeof(text));
	fputs(text, out);
}

static void print_lists(FILE *out, const struct snapshot *s)
{
	unsigned i;

	fputs("no TCP connection matched port_range_list (", out);
	for (i = 0; i < s->range_count; i++) {
		const struct snapshot_range *r = &s->ranges[i];

		fprintf(out, "%s%u", i ? "," : "", r->low);
		if (r->high != r->low)
			fprintf(out, "-%u", r->high);
	}
	fputs(") and ip_addr_list (", out);
	for (i = 0; i < s->address_count; i++) {
		fputs(i ? "," : "", out);
		print_address(out, &s->addresses[i]);
	}
	fputs(")\n", out);
}

static bool is_excluded(const struct snapshot *s, const char *program)
{
	const char *slash = strrchr(program, '/');
	unsigned i;

	for (i = 0; i < s->exclude_count; i++) {
		if (strcmp(s->excludes[i], slash ? slash + 1 : program) == 0)
			return true;
	}
	return false;
}

static void print_rule(FILE *out, uint32_t code)
{
	fprintf(out, "%s; %s\n", reason_text(code), reason_cure(code));
}

/* Is there a directory for this user, or can there be one? */
static bool is_served(const char *rundir)
{
	struct option_account a;
	struct stat st;

	return account_read(&a) != -EOPNOTSUPP || stat(rundir, &st) != 0 ||
	       st.st_uid == geteuid();
}

static void print_cause(FILE *out, const char *program)
{
	const char *rundir = rundir_path();
	struct snapshot s;
	int error = snapshot_read(rundir, &s);
	const char *off = getenv("SMC_R");

	fputs(NAME ": no matching connection: ", out);
	if (error == -ENOENT)
		print_rule(out, REASON_UNAVAILABLE);
	else if (error)
		fprintf(out,
			"the settings in %s/" RUNDIR_SNAPSHOT
			" cannot be used: %s\n",
			rundir, strerror(-error));
	else if (!s.enabled)
		print_rule(out, REASON_DISABLED);
	else if (s.range_count == 0)
		fputs("port_range_list is empty; set it: "
		      "chdev -l smc_r0 -a port_range_list=...\n",
		      out);
	else if (s.address_count == 0)
		fputs("ip_addr_list is empty; set it: "
		      "chdev -l smc_r0 -a ip_addr_list=...\n",
		      out);
	else if (off && strcmp(off, "0") == 0)
		print_rule(out, REASON_ENVIRONMENT);
	else if (is_excluded(&s, program))
		print_rule(out, REASON_PROGRAM);
	else if (!is_served(rundir))
		fprintf(out,
			"no BPF program is attached, so only the owner of %s "
			"has a directory in it; configure the device as root "
			"(mkdev -l smc_r0, and SMC_R_VERBOSE=1 says what is "
			"missing), or make a device of your own\n",
			rundir);
	else
		print_lists(out, &s);
}

void run_report(FILE *out, pid_t reporter, const char *program, bool cures)
{
	const char *rundir = rundir_path();
	struct status_sum sum;
	int error = status_read_reported(rundir, reporter, &sum);

	if (error)
		fprintf(out, NAME ": cannot read %s/" RUNDIR_USERS ": %s\n",
			rundir, strerror(-error));
	else if (sum.counters.client_connections ||
		 sum.counters.server_connections)
		print_sum(out, &sum);
	else
		print_cause(out, program);
	if (cures)
		print_cures(out, &sum.counters);
	status_sweep_reported(rundir, reporter);
}
