/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * statistics: gathers what can be told about smc_r0 at one moment.
 */
#include "statistics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf/rundir.h"
#include "smc_r/bpf/bpf_load.h"
#include "smc_r/peer/registry_places.h"
#include "smc_r/status/account.h"
#include "smc_r/status/baseline.h"
#include "smc_r/status/status_users.h"

/* ---- Connections -------------------------------------------------------- */

struct gather {
	struct statistics *s;
	size_t room;
};

static int keep_connection(void *owner, const struct status_connection *c)
{
	struct gather *g = owner;
	struct status_connection *more;

	if (g->s->connection_count == g->room) {
		g->room = g->room ? g->room * 2 : 64;
		more = reallocarray(g->s->connection, g->room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->s->connection = more;
	}
	g->s->connection[g->s->connection_count++] = *c;
	return 0;
}

static int compare_connections(const void *a, const void *b)
{
	const struct status_connection *left = a, *right = b;

	if (left->holder[0] != right->holder[0])
		return left->holder[0] < right->holder[0] ? -1 : 1;
	if (left->slot.local_port != right->slot.local_port)
		return left->slot.local_port < right->slot.local_port ? -1 : 1;
	return (int)left->slot.peer_port - (int)right->slot.peer_port;
}

static int gather_connections(const char *rundir, struct statistics *s)
{
	struct gather g = {.s = s};
	int error = status_connections_each(rundir, keep_connection, &g);

	if (!error && s->connection_count)
		qsort(s->connection, s->connection_count,
		      sizeof(*s->connection), compare_connections);
	return error;
}

/* ---- Link groups -------------------------------------------------------- */

static bool is_on_smc(const struct status_slot *slot)
{
	uint32_t state = slot->state;

	return slot->link != STATUS_LINK_NONE &&
	       (state == STATUS_INIT || state == STATUS_ACTIVE ||
		state == STATUS_CLOSING);
}

static int compare_groups(const void *a, const void *b)
{
	const struct statistics_group *left = a, *right = b;

	if (left->maker != right->maker)
		return left->maker < right->maker ? -1 : 1;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return 0;
}

/* One group for each connection first; then those that are the same merge. */
static int gather_groups(struct statistics *s)
{
	size_t i, n = 0;

	if (!s->connection_count)
		return 0;
	s->group = calloc(s->connection_count, sizeof(*s->group));
	if (!s->group)
		return -ENOMEM;
	for (i = 0; i < s->connection_count; i++) {
		const struct status_connection *c = &s->connection[i];
		struct statistics_group *g = &s->group[n];

		if (!is_on_smc(&c->slot))
			continue;
		g->maker = c->maker;
		g->number = c->slot.group;
		memcpy(g->program, c->program, sizeof(g->program));
		g->link = c->slot.link;
		g->role = c->slot.role;
		g->peer = c->slot.peer;
		g->peer_pid = c->slot.peer_pid;
		g->connections = 1;
		g->rmbe_bytes = c->slot.rmbe_in;
		n++;
	}
	qsort(s->group, n, sizeof(*s->group), compare_groups);
	for (i = 0; i < n; i++) {
		struct statistics_group *last = &s->group[s->group_count];

		if (s->group_count && !compare_groups(last - 1, &s->group[i])) {
			last[-1].connections++;
			last[-1].rmbe_bytes += s->group[i].rmbe_bytes;
		} else {
			*last = s->group[i];
			s->group_count++;
		}
	}
	return 0;
}

/* ---- Users -------------------------------------------------------------- */

static int keep_user(void *owner, uid_t uid, uint64_t bytes)
{
	struct statistics *s = owner;
	struct statistics_user *more;

	if (bytes == 0)
		return 0;
	more = reallocarray(s->user, s->user_count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->user = more;
	s->user[s->user_count++] = (struct statistics_user){uid, bytes};
	return 0;
}

static int compare_users(const void *a, const void *b)
{
	const struct statistics_user *left = a, *right = b;

	return left->uid < right->uid ? -1 : left->uid > right->uid;
}

/* Root may see all accounts, and others their own; without any there is only
 * the owner of the run directory. */
static int gather_users(const char *rundir, struct statistics *s)
{
	struct option_account own;
	struct stat st;
	int error = bpf_load_accounts(rundir, keep_user, s);

	if (error >= 0 || error == -ENOMEM) {
		if (s->user_count)
			qsort(s->user, s->user_count, sizeof(*s->user),
			      compare_users);
		return error;
	}
	if (account_read(&own) == 0)
		return keep_user(s, getuid(), own.bytes);
	if (stat(rundir, &st) != 0)
		return 0;
	return keep_user(s, st.st_uid, s->sum.rmb_reserved);
}

/* ---- Places -------------------------------------------------------------- */

static uint64_t monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int keep_place(void *owner, const struct option_place *place,
		      const struct worth *w)
{
	struct statistics *s = owner;
	struct statistics_place *more,
	    p = {.netns = place->netns, .port = (uint16_t)place->port};
	uint64_t now = monotonic_us();

	if (!w->ended_us)
		return 0;
	more = reallocarray(s->place, s->place_count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->place = more;
	memcpy(&p.address, place->address, sizeof(p.address));
	p.tcp_ms = (worth_tcp_us(w->word, now) + 999) / 1000;
	p.ago_ms = now > w->ended_us ? (now - w->ended_us) / 1000 : 0;
	p.per_second = w->apart_us ? 1000000 / w->apart_us : 0;
	p.life_us = w->life_us;
	p.bytes = w->bytes;
	p.requests = (double)w->requests / WORTH_REQUESTS;
	s->place[s->place_count++] = p;
	return 0;
}

/* The registry does not know where the listener is bound. */
static int keep_port(void *owner, uint16_t port, const struct worth *w)
{
	const struct option_place place = {.port = port};

	return keep_place(owner, &place, w);
}

static int compare_places(const void *a, const void *b)
{
	const struct statistics_place *left = a, *right = b;
	int order =
	    memcmp(&left->address, &right->address, sizeof(left->address));

	return order ? order : (int)left->port - (int)right->port;
}

/* Others than root may not see those of the BPF program. */
static int gather_places(const char *rundir, struct statistics *s)
{
	int error = bpf_load_places(rundir, keep_place, s);

	if (error != -ENOMEM)
		error = registry_places_each(rundir, keep_port, s);

	if (s->place_count)
		qsort(s->place, s->place_count, sizeof(*s->place),
		      compare_places);
	return error == -ENOMEM ? error : 0;
}

/* ---- The link service --------------------------------------------------- */

/* Most hosts have none, and nothing else depends on it. */
static void gather_service(const char *rundir, struct statistics *s)
{
	int channel = far_status_connect(rundir);

	if (channel < 0)
		return;
	s->service = malloc(sizeof(*s->service));
	if (s->service && far_status_ask(channel, FAR_STATUS, s->service) < 0) {
		free(s->service);
		s->service = NULL;
	}
	close(channel);
}

/* ---- Time and counters -------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Counters that were never reset go back to the first mkdev, which made the
 * generation word. Where the file system does not know when that was, the age
 * of the settings must do.
 */
static uint64_t first_mkdev_ms(const char *rundir)
{
	const char *name[] = {RUNDIR_GENERATION, RUNDIR_SNAPSHOT};
	struct statx st;
	uint64_t since = now_ms();
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		const struct statx_timestamp *t =
		    i ? &st.stx_mtime : &st.stx_btime;
		unsigned mask = i ? STATX_MTIME : STATX_BTIME;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", rundir, name[i]);
		if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, &st) !=
			0 ||
		    !(st.stx_mask & mask))
			continue;
		since = (uint64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
		break;
	}
	return since;
}

static bool sees_all(const char *rundir)
{
	struct stat st;

	return geteuid() == 0 ||
	       (stat(rundir, &st) == 0 && st.st_uid == geteuid());
}

static void apply_baseline(const char *rundir, struct statistics *s)
{
	struct baseline baseline;
	uint64_t since, now = now_ms();

	s->absolute = s->sum.counters;
	/* It is of all users' counters: those who see their own only have no
	 * use for it. */
	if (sees_all(rundir) && baseline_read(rundir, &baseline) == 0) {
		baseline_subtract(&s->sum.counters, &baseline);
		since = baseline.since_ms;
	} else {
		since = first_mkdev_ms(rundir);
	}
	s->elapsed_seconds = now > since ? (now - since) / 1000 : 0;
}

int statistics_read(const char *rundir, const char *device,
		    struct statistics *out)
{
	struct statistics s = {.device = device};
	int error = snapshot_read(rundir, &s.settings);

	if (error)
		return error;
	status_users_sweep(rundir);
	error = status_read_sum(rundir, &s.sum);
	if (!error)
		error = gather_connections(rundir, &s);
	if (!error)
		error = gather_groups(&s);
	if (!error)
		error = gather_users(rundir, &s);
	if (!error)
		error = gather_places(rundir, &s);
	if (error) {
		statistics_free(&s);
		return error;
	}
	apply_baseline(rundir, &s);
	gather_service(rundir, &s);
	*out = s;
	return 0;
}

void statistics_free(struct statistics *s)
{
	free(s->connection);
	free(s->group);
	free(s->user);
	free(s->place);
	free(s->service);
	memset(s, 0, sizeof(*s));
}

/* ---- Words -------------------------------------------------------------- */

const char *statistics_state(uint32_t state)
{
	switch (state) {
	case STATUS_INIT:
		return "INIT";
	case STATUS_ACTIVE:
		return "ACTIVE";
	case STATUS_CLOSING:
		return "CLOSING";
	case STATUS_LISTEN:
		return "LISTEN";
	case STATUS_TCP:
		return "TCP";
	}
	return "UNKNOWN";
}

const char *statistics_role(unsigned role)
{
	return role == STATUS_SERVER ? "SERV" : "CLNT";
}

const char *statistics_link(unsigned link)
{
	switch (link) {
	case STATUS_LINK_SHM:
		return "SHM";
	case STATUS_LINK_RC:
		return "RC";
	}
	return "-";
}

const char *statistics_llc(unsigned type)
{
	static const char *const name[FAR_LLC_TYPES] = {
	    "Other",
	    "Confirm Link",
	    "Add Link",
	    "Add Link Continuation",
	    "Delete Link",
	    "Request Add Link",
	    "Confirm RKey",
	    "Test Link",
	    "Confirm RKey Continuation",
	    "Delete RKey",
	};

	return type < FAR_LLC_TYPES ? name[type] : NULL;
}

const char *statistics_group_state(uint32_t state)
{
	switch (state) {
	case FAR_GROUP_BEGINS:
		return "INIT";
	case FAR_GROUP_ACTIVE:
		return "ACTIVE";
	case FAR_GROUP_ENDS:
		return "CLOSING";
	}
	return "UNKNOWN";
}

void statistics_user_name(uid_t uid, char *out, size_t size)
{
	const struct passwd *known = getpwuid(uid);

	if (known && strlen(known->pw_name) < size)
		strcpy(out, known->pw_name);
	else
		snprintf(out, size, "%u", (unsigned)uid);
}

void statistics_figures(const struct statistics_place *p, char *out,
			size_t size)
{
	int n = snprintf(out, size,
			 "lately %" PRIu64 " connections a second, with %.1f "
			 "ms, %" PRIu64 " bytes and %.1f requests each",
			 p->per_second, (double)p->life_us / 1000, p->bytes,
			 p->requests);

	if (p->tcp_ms && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n,
			 "; on TCP for %" PRIu64 " ms, or while that goes on",
			 p->tcp_ms);
}

void statistics_host(const struct in6_addr *address, char *out, size_t size)
{
	int family = AF_INET6;
	const void *from = address;

	if (IN6_IS_ADDR_V4MAPPED(address)) {
		family = AF_INET;
		from = &address->s6_addr[12];
	}
	if (!inet_ntop(family, from, out, (socklen_t)size))
		*out = '\0';
}

void statistics_address(const struct in6_addr *address, unsigned port,
			char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN];

	statistics_host(address, host, sizeof(host));
	if (IN6_IS_ADDR_UNSPECIFIED(address) && !port)
		snprintf(out, size, "-");
	else if (IN6_IS_ADDR_V4MAPPED(address))
		snprintf(out, size, "%s:%u", host, port);
	else
		snprintf(out, size, "[%s]:%u", host, port);
}
