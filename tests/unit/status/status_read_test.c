/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/status/status_read.h"

#include <errno.h>
#include <sys/file.h>

#include "smc_r/status/baseline.h"
#include "smc_r/status/holders.h"
#include "smc_r/status/status_connections.h"
#include "smc_r/status/status_sweep.h"
#include "smc_r/status/status_totals.h"

#include "tests/unit/forged.h"

TestSuite(status_read, .init = forged_setup, .fini = forged_teardown);

static void write_totals(uint64_t doorbells, uint64_t rmb_bytes)
{
	struct status_totals t = {
	    .magic = STATUS_MAGIC,
	    .version = STATUS_VERSION,
	    .uid = geteuid(),
	    .rmb_bytes = rmb_bytes,
	    .counters = {.doorbells = doorbells},
	};

	forged_write_as(STATUS_TOTALS, &t, sizeof(t));
}

static struct status_totals read_totals(void)
{
	struct status_totals t;
	int fd = status_totals_open(forged_dir);

	cr_assert_geq(fd, 0);
	cr_assert_eq(status_totals_copy(fd, &t), 0);
	close(fd);
	return t;
}

static bool is_zero(const struct status_sum *sum)
{
	const _Atomic uint64_t *counter =
	    (const _Atomic uint64_t *)&sum->counters;
	size_t i;

	for (i = 0; i < sizeof(sum->counters) / sizeof(*counter); i++) {
		if (counter[i])
			return false;
	}
	return !sum->rmb_bytes && !sum->rmb_reserved && !sum->processes &&
	       !sum->starting && !sum->active && !sum->closing && !sum->tcp &&
	       !sum->offer_kind;
}

Test(status_read, nothing_sums_up_to_zeros)
{
	struct status_sum sum;

	memset(&sum, 0xff, sizeof(sum));
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert(is_zero(&sum));
	memset(&sum, 0xff, sizeof(sum));
	cr_assert_eq(status_read_sum("/nonexistent/smc_r", &sum), 0);
	cr_assert(is_zero(&sum));
	cr_assert_eq(holders_list(forged_rundir, NULL, 0), 0);
	cr_assert_eq(status_sweep(forged_rundir), 0);
	cr_assert_eq(status_sweep("/nonexistent/smc_r"), 0);
}

Test(status_read, totals_segments_and_slots_are_summed)
{
	struct status_sum sum;
	struct forged living, dead;
	struct status_slot *s;

	write_totals(1, 4096);
	forged_fill_self(&living);
	living.header.rmb_bytes = 1000;
	living.header.offer_kind = 1;
	living.header.counters.doorbells = 10;
	living.header.counters.bytes_sent = 5;
	living.header.counters.fallbacks[STATUS_REASONS_MAX - 1] = 3;
	s = forged_add_slot(&living, STATUS_ACTIVE);
	s->tx.position = 100;
	s->rx.position = 200;
	s->tx.requests = 3;
	s->rx.requests = 4;
	/* A slot that is free again may still hold old numbers. */
	forged_add_slot(&living, STATUS_FREE)->tx.position = 9999;
	forged_add_slot(&living, STATUS_INIT);
	forged_write(&living, NULL);
	forged_fill(&dead, forged_dead_pid(), 1);
	dead.header.counters.doorbells = 100;
	dead.header.rmb_bytes = 500;
	forged_add_slot(&dead, STATUS_ACTIVE)->tx.position = 1000;
	forged_write(&dead, NULL);

	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 111);
	cr_assert_eq(sum.counters.bytes_sent, 1105);
	cr_assert_eq(sum.counters.bytes_received, 200);
	cr_assert_eq(sum.counters.requests_sent, 3);
	cr_assert_eq(sum.counters.requests_received, 4);
	cr_assert_eq(sum.counters.fallbacks[STATUS_REASONS_MAX - 1], 3);
	cr_assert_eq(sum.rmb_bytes, 1000, "of living processes");
	cr_assert_eq(sum.rmb_reserved, 4096, "what the ledger says");
	cr_assert_eq(sum.processes, 1);
	cr_assert_eq(sum.active, 1);
	cr_assert_eq(sum.starting, 1);
	cr_assert_eq(sum.offer_kind, 1);
}

/* A server that sent and ended before the client's Confirm came. */
static void add_early_server(struct forged *f)
{
	struct status_slot *s = forged_add_slot(f, STATUS_INIT);

	s->role = STATUS_SERVER;
	s->tx.position = 16;
}

Test(status_read, what_carried_bytes_and_ended_in_its_handshake_was_on_smc)
{
	struct forged living, dead;
	struct status_sum sum;

	forged_fill_self(&living);
	living.header.counters.smc_connections = 1;
	living.header.counters.server_connections = 1;
	add_early_server(&living);
	forged_write(&living, NULL);
	forged_fill(&dead, forged_dead_pid(), 1);
	add_early_server(&dead);
	/* This one had not begun. */
	forged_add_slot(&dead, STATUS_INIT);
	forged_write(&dead, NULL);
	for (int swept = 0; swept < 2; swept++) {
		cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
		cr_assert_eq(sum.counters.smc_connections, 2);
		cr_assert_eq(sum.counters.server_connections, 2);
		cr_assert_eq(sum.counters.client_connections, 0);
		cr_assert_eq(sum.counters.bytes_sent, 32);
		cr_assert_eq(sum.starting, 1);
		cr_assert_eq(status_sweep(forged_rundir), !swept);
	}
}

Test(status_read, strangers_files_count_nothing)
{
	struct status_sum sum;
	struct forged f;
	char name[48];

	forged_fill_self(&f);
	f.header.counters.doorbells = 1;
	forged_write(&f, name);
	forged_write_as("1.1", &f, forged_size(&f));
	forged_write_as("2.2", "rubbish", 7);
	forged_write_as("totals.1", "rubbish", 7);
	cr_assert_eq(symlinkat(name, forged_dir, "3.3"), 0);
	cr_assert_eq(mkfifoat(forged_dir, STATUS_TOTALS, 0644), 0);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 1);
}

/* Strangers make names beside those of users; not even root reads them. */
Test(status_read, what_is_no_users_directory_counts_nothing)
{
	static const char *const name[] = {"1234567", "12345", "00000A", "x",
					   "000001"};
	char path[4300], command[8700];
	struct status_sum sum;
	struct forged f;

	forged_fill_self(&f);
	f.header.counters.doorbells = 1;
	forged_write(&f, NULL);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		snprintf(command, sizeof(command),
			 "cp -a '%s/users/000000' '%s/users/%s'", forged_rundir,
			 forged_rundir, name[i]);
		cr_assert_eq(system(command), 0);
	}
	/* Others could have written there. */
	snprintf(path, sizeof(path), "%s/users/000001/status", forged_rundir);
	cr_assert_eq(chmod(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/users/000002", forged_rundir);
	cr_assert_eq(symlink("000000", path), 0);
	snprintf(path, sizeof(path), "%s/users/000003", forged_rundir);
	cr_assert_eq(mkfifo(path, 0644), 0);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 1);
	/* A second one of this user counts as well. */
	snprintf(path, sizeof(path), "%s/users/000001/status", forged_rundir);
	cr_assert_eq(chmod(path, 0700), 0);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 2);
}

Test(status_read, a_huge_ledger_does_not_wrap_the_sum)
{
	struct status_sum sum;

	write_totals(0, UINT64_MAX);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_gt(sum.rmb_reserved, UINT64_C(1) << 40);
}

Test(status_read, a_lock_that_somebody_keeps_delays_but_does_not_stop_a_sum)
{
	struct status_sum sum;
	int fd;

	write_totals(3, 0);
	fd = status_totals_open(forged_dir);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 3);
	close(fd);
}

Test(status_read, a_sweep_moves_dead_segments_once)
{
	struct status_totals t;
	struct forged f;
	char name[48];

	write_totals(1, 700);
	forged_fill(&f, forged_dead_pid(), 1);
	f.header.counters.doorbells = 10;
	f.header.counters.fallbacks[5] = 2;
	f.header.rmb_bytes = 300;
	forged_add_slot(&f, STATUS_CLOSING)->rx.position = 8;
	forged_add_slot(&f, STATUS_FREE)->rx.position = 100;
	forged_write(&f, name);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	cr_assert(!forged_exists(name));
	cr_assert_eq(status_sweep(forged_rundir), 0);
	t = read_totals();
	cr_assert_eq(t.counters.doorbells, 11);
	cr_assert_eq(t.counters.fallbacks[5], 2);
	cr_assert_eq(t.counters.bytes_received, 8);
	cr_assert_eq(t.rmb_bytes, 400);
}

/* A revision that numbered the reasons in another way, and had no ledger word:
 * shorter, and without the name of a table. */
static void write_old_totals(uint64_t doorbells)
{
	struct status_totals t = {
	    .magic = STATUS_MAGIC,
	    .version = STATUS_VERSION,
	    .uid = geteuid(),
	    .rmb_bytes = 4096,
	    .counters = {.doorbells = doorbells, .tcp_connections = 9}};

	for (int i = 0; i < STATUS_REASONS_MAX; i++)
		t.counters.fallbacks[i] = 1000u + (unsigned)i;
	forged_write_as(STATUS_TOTALS, &t, STATUS_TOTALS_LEAST);
}

static void assert_no_reasons(const struct status_counters *c)
{
	for (int i = 0; i < STATUS_REASONS_MAX; i++)
		cr_assert_eq(c->fallbacks[i], 0, "reason %d", i);
}

Test(status_read, totals_of_an_older_table_of_reasons_count_without_them)
{
	struct status_sum sum;
	struct status_totals t;
	struct forged f;

	write_old_totals(7);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 7);
	cr_assert_eq(sum.counters.tcp_connections, 9);
	cr_assert_eq(sum.rmb_reserved, 4096);
	assert_no_reasons(&sum.counters);
	/* A merge makes it a file of this revision. */
	forged_fill(&f, forged_dead_pid(), 1);
	f.header.counters.fallbacks[5] = 2;
	forged_write(&f, NULL);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	t = read_totals();
	cr_assert_eq(t.counters.doorbells, 7);
	cr_assert_eq(t.counters.fallbacks[5], 2);
	t.counters.fallbacks[5] = 0;
	assert_no_reasons(&t.counters);
	cr_assert_eq(t.reason_table, STATUS_REASON_TABLE);
	cr_assert_eq(t.ledger, 0);
}

Test(status_read, a_segment_of_an_older_table_counts_without_its_reasons)
{
	struct status_totals t;
	struct status_sum sum;
	struct forged f;

	forged_fill(&f, forged_dead_pid(), 1);
	f.header.reason_table = 0;
	f.header.counters.fallbacks[5] = 2;
	f.header.counters.doorbells = 3;
	forged_write(&f, NULL);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 3);
	assert_no_reasons(&sum.counters);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	t = read_totals();
	cr_assert_eq(t.counters.doorbells, 3);
	cr_assert_eq(t.counters.fallbacks[5], 0);
}

Test(status_read, a_sweep_makes_totals_where_there_are_none)
{
	struct status_totals t;
	struct forged f;
	struct stat st;

	forged_fill(&f, forged_dead_pid(), 1);
	f.header.counters.doorbells = 10;
	f.header.rmb_bytes = 300;
	forged_write(&f, NULL);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	t = read_totals();
	cr_assert_eq(t.counters.doorbells, 10);
	cr_assert_eq(t.rmb_bytes, 0, "never below zero");
	cr_assert_eq(fstatat(forged_dir, STATUS_TOTALS, &st, 0), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
}

Test(status_read, a_sweep_leaves_the_living_and_those_that_are_waited_for)
{
	struct forged own, reported;
	char own_name[48], reported_name[48];

	forged_fill_self(&own);
	forged_write(&own, own_name);
	forged_fill(&reported, forged_dead_pid(), own.header.start);
	reported.header.reporter = getpid();
	forged_write(&reported, reported_name);
	cr_assert_eq(status_sweep(forged_rundir), 0);
	cr_assert(forged_exists(own_name));
	cr_assert(forged_exists(reported_name));
	cr_assert_eq(status_sweep_reported(forged_rundir, getpid()), 1);
	cr_assert(forged_exists(own_name));
	cr_assert(!forged_exists(reported_name));
}

Test(status_read, a_reporter_whose_number_was_given_again_holds_nothing_up)
{
	struct forged f, own;
	char name[48];

	forged_fill_self(&own);
	/* The segment is older than the process of that number. */
	forged_fill(&f, forged_dead_pid(), own.header.start - 1);
	f.header.reporter = getpid();
	forged_write(&f, name);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	cr_assert(!forged_exists(name));
}

Test(status_read, a_sweep_removes_half_made_files_of_dead_processes_only)
{
	struct forged own;
	char dead[48], living[48];

	snprintf(dead, sizeof(dead), "%d.1", (int)forged_dead_pid());
	forged_write_as(dead, "", 0);
	forged_fill_self(&own);
	snprintf(living, sizeof(living), "%d.%" PRIu64, own.header.pid,
		 own.header.start);
	forged_write_as(living, "", 0);
	forged_write_as("other", "", 0);
	cr_assert_eq(status_sweep(forged_rundir), 1);
	cr_assert(!forged_exists(dead));
	cr_assert(forged_exists(living));
	cr_assert(forged_exists("other"));
}

Test(status_read, totals_that_are_damaged_are_not_merged_into)
{
	struct forged f;
	char name[48];

	forged_write_as(STATUS_TOTALS, "rubbish", 7);
	forged_fill(&f, forged_dead_pid(), 1);
	forged_write(&f, name);
	cr_assert_eq(status_sweep(forged_rundir), 0);
	cr_assert(forged_exists(name), "what cannot be moved stays");
}

Test(status_read, totals_that_are_a_link_are_not_followed)
{
	struct forged f;
	char name[48];

	forged_write_as("victim", "", 0);
	cr_assert_eq(symlinkat("victim", forged_dir, STATUS_TOTALS), 0);
	forged_fill(&f, forged_dead_pid(), 1);
	forged_write(&f, name);
	cr_assert_eq(status_sweep(forged_rundir), 0);
	cr_assert(forged_exists(name));
}

Test(status_read, a_segment_that_was_replaced_meanwhile_is_not_merged)
{
	const struct user_directory own = {.status = forged_dir,
					   .uid = geteuid()};
	struct status_file file;
	struct forged f;
	char name[48];

	forged_fill(&f, forged_dead_pid(), 1);
	forged_write(&f, name);
	cr_assert_eq(status_file_open(forged_dir, name, &file), 0);
	cr_assert_eq(unlinkat(forged_dir, name, 0), 0);
	cr_assert_eq(status_merge(&own, name, &file), -ENOENT);
	forged_write(&f, name);
	cr_assert_eq(status_merge(&own, name, &file), -ENOENT);
	cr_assert(forged_exists(name));
	status_file_close(&file);
}

Test(status_read, a_report_counts_the_reporters_segments_only)
{
	struct status_sum sum;
	struct forged f;

	forged_fill(&f, forged_dead_pid(), 1);
	f.header.reporter = 4711;
	f.header.counters.doorbells = 1;
	forged_add_slot(&f, STATUS_ACTIVE)->rx.position = 5;
	forged_write(&f, NULL);
	forged_fill_self(&f);
	f.header.reporter = 4711;
	f.header.counters.doorbells = 2;
	forged_write(&f, NULL);
	forged_fill(&f, 1, 99);
	f.header.counters.doorbells = 4;
	forged_write(&f, NULL);
	cr_assert_eq(status_read_reported(forged_rundir, 4711, &sum), 0);
	cr_assert_eq(sum.counters.doorbells, 3);
	cr_assert_eq(sum.counters.bytes_received, 5);
	cr_assert_eq(sum.processes, 1);
}

/* ---- Connections and holders -------------------------------------------- */

struct seen {
	int count;
	struct status_connection last;
};

static int see(void *owner, const struct status_connection *c)
{
	struct seen *seen = owner;

	seen->count++;
	seen->last = *c;
	return 0;
}

static int stop(void *owner, const struct status_connection *c)
{
	(void)c;
	++*(int *)owner;
	return 42;
}

Test(status_read, only_connections_that_somebody_living_holds_are_listed)
{
	struct seen seen = {.count = 0};
	struct forged f;
	int stopped = 0;

	forged_fill_self(&f);
	f.header.holders[1].pid = forged_dead_pid();
	f.header.holders[1].start = 1;
	forged_add_slot(&f, STATUS_FREE);
	forged_add_slot(&f, STATUS_ACTIVE)->holders = 2;
	forged_add_slot(&f, STATUS_TCP)->holders = 3;
	forged_write(&f, NULL);
	cr_assert_eq(status_connections_each(forged_rundir, see, &seen), 0);
	cr_assert_eq(seen.count, 1);
	cr_assert_eq(seen.last.slot.state, STATUS_TCP);
	cr_assert_eq(seen.last.holder_count, 1);
	cr_assert_eq(seen.last.holder[0], getpid());
	cr_assert_eq(seen.last.maker, getpid());
	cr_assert_str_eq(seen.last.program, "forged");

	forged_add_slot(&f, STATUS_ACTIVE);
	forged_write(&f, NULL);
	cr_assert_eq(status_connections_each(forged_rundir, stop, &stopped),
		     42);
	cr_assert_eq(stopped, 1);
}

Test(status_read, holders_are_processes_with_connections_on_smc)
{
	struct holder holder[2];
	struct forged own, other;
	uint64_t start;
	int go[2];
	pid_t child;
	char byte;

	cr_assert_eq(pipe(go), 0);
	child = fork();
	if (child == 0) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	cr_assert_eq(alive_start(child, &start), 0);
	forged_fill_self(&own);
	strcpy(own.header.program, "parent");
	own.header.holders[1].pid = child;
	own.header.holders[1].start = start;
	forged_add_slot(&own, STATUS_ACTIVE);
	forged_add_slot(&own, STATUS_INIT)->holders = 3;
	forged_add_slot(&own, STATUS_TCP)->holders = 3;
	forged_add_slot(&own, STATUS_LISTEN);
	forged_write(&own, NULL);
	forged_fill(&other, child, start);
	forged_add_slot(&other, STATUS_CLOSING);
	forged_write(&other, NULL);

	cr_assert_eq(holders_list(forged_rundir, NULL, 0), 2);
	cr_assert_eq(holders_list(forged_rundir, holder, 1), 2);
	cr_assert_eq(holders_list(forged_rundir, holder, 2), 2);
	if (holder[0].pid == child) {
		struct holder swap = holder[0];

		holder[0] = holder[1];
		holder[1] = swap;
	}
	cr_assert_eq(holder[0].pid, getpid());
	cr_assert_eq(holder[0].connections, 2);
	cr_assert_str_eq(holder[0].program, "parent");
	cr_assert_eq(holder[1].pid, child);
	cr_assert_eq(holder[1].connections, 2, "of two segments");
	close(go[1]);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(holders_list(forged_rundir, holder, 2), 1);
}

/* ---- Baseline ----------------------------------------------------------- */

Test(status_read, a_baseline_is_taken_off_and_never_below_zero)
{
	struct status_counters c = {.doorbells = 5, .sleeps = 7};
	struct status_counters later = {.doorbells = 9, .sleeps = 3};
	struct baseline b;

	cr_assert_eq(baseline_read(forged_rundir, &b), -ENOENT);
	cr_assert_eq(baseline_write(forged_rundir, &c), 0);
	cr_assert_eq(baseline_read(forged_rundir, &b), 0);
	cr_assert_gt(b.since_ms, 0);
	baseline_subtract(&later, &b);
	cr_assert_eq(later.doorbells, 4);
	cr_assert_eq(later.sleeps, 0);
}

Test(status_read, a_baseline_with_other_bytes_is_refused)
{
	struct status_counters c = {.doorbells = 5};
	struct baseline b;
	char path[4200];

	cr_assert_eq(baseline_write(forged_rundir, &c), 0);
	snprintf(path, sizeof(path), "%s/baseline", forged_rundir);
	cr_assert_eq(truncate(path, 10), 0);
	cr_assert_eq(baseline_read(forged_rundir, &b), -EPROTO);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/dev/zero", path), 0);
	cr_assert_eq(baseline_read(forged_rundir, &b), -ELOOP);
	cr_assert_eq(baseline_write(forged_rundir, &c), 0, "replaces a link");
	cr_assert_eq(baseline_read(forged_rundir, &b), 0);
}

/* ---- Races -------------------------------------------------------------- */

#define ROUNDS    150
#define PER_ROUND 10

/* Puts dead segments into place, whole, and merges them. */
static void merge_many(void)
{
	struct forged f;
	char name[48];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		forged_fill(&f, 1, (UINT64_MAX >> 1) - (uint64_t)i);
		f.header.counters.bytes_sent = PER_ROUND - 1;
		forged_add_slot(&f, STATUS_ACTIVE)->tx.position = 1;
		forged_write_as("new", &f, forged_size(&f));
		snprintf(name, sizeof(name), "1.%" PRIu64, f.header.start);
		if (renameat(forged_dir, "new", forged_dir, name) != 0)
			_exit(1);
		status_sweep(forged_rundir);
	}
	_exit(0);
}

/* pid 1 lives, but with another start time. A sum may see a segment before
 * or after its merge, never both and never neither. */
Test(status_read, a_sum_never_shrinks_while_others_merge, .timeout = 60)
{
	struct status_sum sum;
	uint64_t last = 0;
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		merge_many();
	cr_assert_gt(child, 0);
	do {
		cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
		cr_assert_geq(sum.counters.bytes_sent, last);
		cr_assert_eq(sum.counters.bytes_sent % PER_ROUND, 0);
		last = sum.counters.bytes_sent;
	} while (waitpid(child, &status, WNOHANG) == 0);
	cr_assert_eq(status, 0);
	cr_assert_eq(status_read_sum(forged_rundir, &sum), 0);
	cr_assert_eq(sum.counters.bytes_sent, ROUNDS * PER_ROUND);
}

#define SWEEPERS 4
#define SEGMENTS 40

Test(status_read, sweepers_at_once_count_each_segment_once, .timeout = 60)
{
	pid_t child[SWEEPERS];
	struct status_totals t;
	struct forged f;
	int go[2], i, status;
	char byte;

	for (i = 0; i < SEGMENTS; i++) {
		forged_fill(&f, 1, (UINT64_MAX >> 1) - (uint64_t)i);
		f.header.counters.doorbells = 1;
		forged_write(&f, NULL);
	}
	cr_assert_eq(pipe(go), 0);
	for (i = 0; i < SWEEPERS; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			close(go[1]);
			if (read(go[0], &byte, 1) != 0)
				_exit(1);
			_exit(status_sweep(forged_rundir) < 0);
		}
	}
	close(go[1]);
	for (i = 0; i < SWEEPERS; i++) {
		cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
		cr_assert_eq(status, 0);
	}
	/* What a sweeper could not lock in time is left to the next. */
	status_sweep(forged_rundir);
	t = read_totals();
	cr_assert_eq(t.counters.doorbells, SEGMENTS);
}
