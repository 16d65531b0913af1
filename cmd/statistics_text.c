/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * statistics_text: the statistics in the frame that entstat has on AIX.
 *
 * Scripts take what stands before the first colon of a line for the name of
 * a counter and the number after it for its value: one colon in each counter
 * line, and the second column begins at 46.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "smc_r/protocol/reason.h"
#include "smc_r/status/printable.h"

#include "statistics.h"

#define COLUMN 46
#define RULE   "-------------------------------------------------------------\n"

static void print_title(FILE *out, const char *title)
{
	fprintf(out, "\n%s\n%.*s\n", title, (int)strlen(title), RULE);
}

static void print_pair(FILE *out, const char *left_name, uint64_t left,
		       const char *right_name, uint64_t right)
{
	char cell[COLUMN + 32];

	snprintf(cell, sizeof(cell), "%s: %" PRIu64, left_name, left);
	fprintf(out, "%-*s%s: %" PRIu64 "\n", COLUMN, cell, right_name, right);
}

static void print_count(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "%s: %" PRIu64 "\n", name, value);
}

/* printf pads by bytes; a name may have characters of several. */
static int program_width(const char *program)
{
	return 16 + (int)(strlen(program) - printable_length(program));
}

static uint64_t ratio(uint64_t whole, uint64_t parts)
{
	return parts ? whole / parts : 0;
}

/* ---- For everybody ------------------------------------------------------ */

static void print_head(FILE *out, const struct statistics *s)
{
	uint64_t t = s->elapsed_seconds;

	fprintf(out, RULE "ETHERNET STATISTICS (%s) :\n", s->device);
	fprintf(out, "Device Type: SMC-R\n");
	fprintf(out,
		"Elapsed Time: %" PRIu64 " days %" PRIu64 " hours %" PRIu64
		" minutes %" PRIu64 " seconds\n",
		t / 86400, t / 3600 % 24, t / 60 % 60, t % 60);
}

static void print_columns(FILE *out, const struct status_counters *c)
{
	fprintf(out, "\n%-*sReceive Statistics:\n%-*s-------------------\n",
		COLUMN, "Transmit Statistics:", COLUMN, "--------------------");
	print_pair(out, "Bytes", c->bytes_sent, "Bytes", c->bytes_received);
	print_pair(out, "Requests", c->requests_sent, "Requests",
		   c->requests_received);
	print_pair(out, "Bytes per Request",
		   ratio(c->bytes_sent, c->requests_sent), "Bytes per Request",
		   ratio(c->bytes_received, c->requests_received));
	print_pair(out, "Declines Sent", c->declines_sent, "Declines Received",
		   c->declines_received);
}

static void print_general(FILE *out, const struct statistics *s)
{
	const struct status_counters *c = &s->sum.counters;

	print_title(out, "General Statistics:");
	print_count(out, "Connections Handled",
		    c->client_connections + c->server_connections);
	print_count(out, "SMC-R Connections", c->smc_connections);
	print_count(out, "TCP Connections", c->tcp_connections);
	print_count(out, "SMC-R Connections Active Now", s->sum.active);
	print_count(out, "Handshake Errors", c->handshake_errors);
	fprintf(out, "Driver Flags: Up %s\n",
		s->settings.enabled ? "Running " : "");
}

/* ---- -d ----------------------------------------------------------------- */

static void print_details(FILE *out, const struct statistics *s)
{
	const struct status_counters *c = &s->sum.counters;

	print_title(out, "SMC-R Specific Statistics:");
	print_count(out, "Connections Opened (client)", c->client_connections);
	print_count(out, "Connections Accepted (server)",
		    c->server_connections);
	print_count(out, "Connections Moved Back to TCP", c->demoted);
	print_count(out, "Connections in Handshake Now", s->sum.starting);
	print_count(out, "Connections Closing Now", s->sum.closing);
	print_count(out, "Matching Connections on TCP Now", s->sum.tcp);
	print_count(out, "Processes Now", s->sum.processes);
	print_count(out, "RMB Memory in Use (bytes)", s->sum.rmb_reserved);
	print_count(out, "RMB Memory Limit (bytes)",
		    s->settings.max_memory_bytes);
	print_count(out, "RMBs Allocated", c->rmbs_made);
	print_count(out, "RMBs Freed", c->rmbs_freed);
	print_count(out, "Link Groups, First Contact", c->first_contacts);
	print_count(out, "Link Groups, Reuse", c->reuses);
	print_count(out, "Connections Begun by a Knock", c->knocks);
	print_count(out, "Doorbells", c->doorbells);
	print_count(out, "Sleeps", c->sleeps);
	print_count(out, "Spin Hits", c->spin_hits);
	print_count(out, "Spin Misses", c->spin_misses);
	print_count(out, "Buffer Full", c->buffer_full);
}

static void print_users(FILE *out, const struct statistics *s)
{
	char name[33];
	size_t i;

	if (!s->user_count)
		return;
	print_title(out, "RMB Memory by User:");
	for (i = 0; i < s->user_count; i++) {
		statistics_user_name(s->user[i].uid, name, sizeof(name));
		print_count(out, name, s->user[i].bytes);
	}
}

/* Those that offer SMC have no reason. */
static void print_places(FILE *out, const struct statistics *s)
{
	char place[64], figures[160];
	size_t i;

	for (i = 0; i < s->place_count; i++) {
		const struct statistics_place *p = &s->place[i];

		if (!p->tcp_ms)
			continue;
		statistics_address(&p->address, p->port, place, sizeof(place));
		statistics_figures(p, figures, sizeof(figures));
		fprintf(out, "\t%s: %s\n", place, figures);
	}
}

static void print_reasons(FILE *out, const struct statistics *s)
{
	const struct status_counters *c = &s->sum.counters;
	bool none = true;
	int i;

	print_title(out, "Reasons for TCP:");
	for (i = 0; i < REASON_COUNT; i++) {
		uint32_t code = reason_code(i);

		if (!c->fallbacks[i])
			continue;
		none = false;
		fprintf(out, "%s (0x%08" PRIX32 "): %" PRIu64 "\n",
			reason_name(code), code, c->fallbacks[i]);
		fprintf(out, "\t%s\n\tCure: %s\n", reason_text(code),
			reason_cure(code));
		if (code == REASON_NOT_WORTH_IT)
			print_places(out, s);
	}
	if (none)
		fputs("None\n", out);
}

static void print_connection(FILE *out, const struct status_connection *c)
{
	const struct status_slot *slot = &c->slot;
	char local[64], peer[64], pid[32], reason[48] = "-";

	statistics_address(&slot->local, slot->local_port, local,
			   sizeof(local));
	statistics_address(&slot->peer, slot->peer_port, peer, sizeof(peer));
	snprintf(pid, sizeof(pid), "%d", (int)c->holder[0]);
	if (c->holder_count > 1)
		snprintf(pid, sizeof(pid), "%d+%d", (int)c->holder[0],
			 c->holder_count - 1);
	if (slot->reason && slot->peer_reason)
		snprintf(reason, sizeof(reason), "%s/0x%08" PRIX32,
			 reason_name(slot->reason), slot->peer_reason);
	else if (slot->reason)
		snprintf(reason, sizeof(reason), "%s",
			 reason_name(slot->reason));
	fprintf(out,
		"%-8s%-5s%-12s%-*s %-22s %-22s %-5s%-20s%12" PRIu64
		" %12" PRIu64 "\n",
		statistics_state(slot->state), statistics_role(slot->role), pid,
		program_width(c->program), *c->program ? c->program : "-",
		local, peer, statistics_link(slot->link), reason,
		slot->rx.position, slot->tx.position);
}

static void print_connections(FILE *out, const struct statistics *s)
{
	size_t i;

	print_title(out, "Connections:");
	if (!s->connection_count) {
		fputs("None\n", out);
		return;
	}
	fprintf(out, "%-8s%-5s%-12s%-16s %-22s %-22s %-5s%-20s%12s %12s\n",
		"State", "Role", "Pid", "Program", "Local", "Peer", "Link",
		"Reason", "Bytes In", "Bytes Out");
	for (i = 0; i < s->connection_count; i++)
		print_connection(out, &s->connection[i]);
}

static void print_group(FILE *out, const struct statistics_group *g)
{
	char id[32], peer[64], peer_pid[16] = "-";

	snprintf(id, sizeof(id), "%d.%" PRIu32, (int)g->maker, g->number);
	statistics_host(&g->peer, peer, sizeof(peer));
	if (g->peer_pid)
		snprintf(peer_pid, sizeof(peer_pid), "%d", (int)g->peer_pid);
	fprintf(out, "%-16s%-*s %-5s%-5s%-22s %-9s%11u %14" PRIu64 "\n", id,
		program_width(g->program), *g->program ? g->program : "-",
		statistics_role(g->role), statistics_link(g->link), peer,
		peer_pid, g->connections, g->rmbe_bytes);
}

static void print_groups(FILE *out, const struct statistics *s)
{
	size_t i;

	print_title(out, "Link Groups:");
	if (!s->group_count) {
		fputs("None\n", out);
		return;
	}
	fprintf(out, "%-16s%-16s %-5s%-5s%-22s %-9s%11s %14s\n", "Group",
		"Program", "Role", "Link", "Peer", "Peer Pid", "Connections",
		"RMBE Bytes");
	for (i = 0; i < s->group_count; i++)
		print_group(out, &s->group[i]);
}

/* ---- The link service --------------------------------------------------- */

static void print_port(FILE *out, const struct far_port_row *r)
{
	char local[INET6_ADDRSTRLEN], gid[INET6_ADDRSTRLEN];
	struct in6_addr address;

	memcpy(&address, r->local, sizeof(address));
	statistics_host(&address, local, sizeof(local));
	inet_ntop(AF_INET6, r->gid, gid, sizeof(gid));
	fprintf(out, "%-16s%-16s %4" PRIu32 " v%-4" PRIu32 "%-22s %s%s\n",
		*r->interface ? r->interface : "-",
		*r->device ? r->device : "-", r->number, r->roce_version, local,
		gid, r->broken ? " (lost)" : "");
}

static void print_both_ways(FILE *out, const char *what, uint64_t sent,
			    uint64_t received)
{
	char left[48], right[48];

	snprintf(left, sizeof(left), "%s Sent", what);
	snprintf(right, sizeof(right), "%s Received", what);
	print_pair(out, left, sent, right, received);
}

static void print_port_counts(FILE *out, const struct far_port_row *r)
{
	const struct far_counts *c = &r->counts;
	char text[64];

	snprintf(text, sizeof(text), "RoCE Interface %s, v%" PRIu32 ":",
		 r->interface, r->roce_version);
	print_title(out, text);
	print_both_ways(out, "RDMA Bytes", c->bytes_sent, c->bytes_received);
	print_both_ways(out, "CDC Messages", c->cdc_sent, c->cdc_received);
	/* Others, which are type 0, come last. */
	for (unsigned i = 1; i <= FAR_LLC_TYPES; i++) {
		unsigned type = i % FAR_LLC_TYPES;

		if (!statistics_llc(type))
			continue;
		snprintf(text, sizeof(text), "LLC %s", statistics_llc(type));
		print_both_ways(out, text, c->llc_sent[type],
				c->llc_received[type]);
	}
	print_count(out, "RDMA WRITEs", c->writes);
	print_count(out, "RDMA Connections", c->connections);
	print_count(out, "RDMA Link Groups Now", r->groups);
	print_count(out, "Memory Regions Registered", c->registrations);
}

static uint64_t sum_of(const uint64_t counts[FAR_LLC_TYPES])
{
	uint64_t sum = 0;

	for (int i = 0; i < FAR_LLC_TYPES; i++)
		sum += counts[i];
	return sum;
}

static void print_far_group(FILE *out, const struct far_group_row *r)
{
	const struct far_counts *c = &r->counts;
	char gid[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < sizeof(r->peer_id); i++)
		fprintf(out, "%02x", r->peer_id[i]);
	inet_ntop(AF_INET6, r->peer_gid, gid, sizeof(gid));
	fprintf(out,
		" %-5sv%-3" PRIu32 "%-8s%-16s%-26s %8" PRIu32 " %8" PRIu32
		" %11" PRIu32 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
		" %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64
		" %8" PRIu64 "\n",
		statistics_role(r->server ? STATUS_SERVER : STATUS_CLIENT),
		r->version, statistics_group_state(r->state),
		*r->interface ? r->interface : "-", gid, r->qpn, r->peer_qpn,
		r->connections, r->rmb_bytes, c->bytes_received, c->bytes_sent,
		c->writes, c->cdc_received, c->cdc_sent,
		sum_of(c->llc_received), sum_of(c->llc_sent));
}

static void print_far_groups(FILE *out, const struct far_status *s)
{
	print_title(out, "RDMA Link Groups:");
	if (!s->groups_all)
		fputs("None\n", out);
	if (s->groups)
		fprintf(out,
			"%-17s%-5s%-4s%-8s%-16s%-26s %8s %8s %11s %12s %12s "
			"%12s %10s %10s %10s %8s %8s\n",
			"Peer", "Role", "SMC", "State", "Interface", "Peer GID",
			"QP", "Peer QP", "Connections", "RMB Bytes", "Bytes In",
			"Bytes Out", "WRITEs", "CDC In", "CDC Out", "LLC In",
			"LLC Out");
	for (uint32_t i = 0; i < s->groups; i++)
		print_far_group(out, &s->group[i]);
	if (s->groups < s->groups_all)
		print_count(out, "RDMA Link Groups Not Shown",
			    s->groups_all - s->groups);
}

static void print_service(FILE *out, const struct far_status *s)
{
	print_title(out, "RoCE Interfaces:");
	if (s->ports)
		fprintf(out, "%-16s%-16s %4s %-5s%-22s %s\n", "Interface",
			"Device", "Port", "RoCE", "Local", "GID");
	else
		fputs("None\n", out);
	for (uint32_t i = 0; i < s->ports; i++)
		print_port(out, &s->port[i]);
	for (uint32_t i = 0; i < s->ports; i++)
		print_port_counts(out, &s->port[i]);
	print_far_groups(out, s);
}

void statistics_print(FILE *out, const struct statistics *s, int detailed)
{
	print_head(out, s);
	print_columns(out, &s->sum.counters);
	print_general(out, s);
	if (!detailed) {
		fputc('\n', out); /* ends the flags */
		return;
	}
	print_details(out, s);
	print_users(out, s);
	print_reasons(out, s);
	if (s->service)
		print_service(out, s->service);
	print_groups(out, s);
	print_connections(out, s);
}
