/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * statistics_json: the statistics as one JSON object.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "smc_r/protocol/reason.h"

#include "statistics.h"

/*
 * Builders remember a failure instead of reporting each one: json-c has freed
 * or kept every part by then, and the whole is put at the end.
 */
struct builder {
	bool failed;
};

static void add(struct builder *b, struct json_object *to, const char *name,
		struct json_object *value)
{
	if (!to || !value || json_object_object_add(to, name, value) != 0) {
		b->failed = true;
		json_object_put(value);
	}
}

static void add_number(struct builder *b, struct json_object *to,
		       const char *name, uint64_t value)
{
	add(b, to, name, json_object_new_uint64(value));
}

static void add_text(struct builder *b, struct json_object *to,
		     const char *name, const char *value)
{
	add(b, to, name, json_object_new_string(value));
}

static void append(struct builder *b, struct json_object *to,
		   struct json_object *value)
{
	if (!to || !value || json_object_array_add(to, value) != 0) {
		b->failed = true;
		json_object_put(value);
	}
}

static void add_counters(struct builder *b, struct json_object *to,
			 const struct status_counters *c)
{
	add_number(b, to, "client_connections", c->client_connections);
	add_number(b, to, "server_connections", c->server_connections);
	add_number(b, to, "smc_connections", c->smc_connections);
	add_number(b, to, "tcp_connections", c->tcp_connections);
	add_number(b, to, "demoted", c->demoted);
	add_number(b, to, "handshake_errors", c->handshake_errors);
	add_number(b, to, "first_contacts", c->first_contacts);
	add_number(b, to, "reuses", c->reuses);
	add_number(b, to, "knocks", c->knocks);
	add_number(b, to, "declines_sent", c->declines_sent);
	add_number(b, to, "declines_received", c->declines_received);
	add_number(b, to, "bytes_sent", c->bytes_sent);
	add_number(b, to, "bytes_received", c->bytes_received);
	add_number(b, to, "requests_sent", c->requests_sent);
	add_number(b, to, "requests_received", c->requests_received);
	add_number(b, to, "rmbs_made", c->rmbs_made);
	add_number(b, to, "rmbs_freed", c->rmbs_freed);
	add_number(b, to, "doorbells", c->doorbells);
	add_number(b, to, "sleeps", c->sleeps);
	add_number(b, to, "spin_hits", c->spin_hits);
	add_number(b, to, "spin_misses", c->spin_misses);
	add_number(b, to, "buffer_full", c->buffer_full);
}

static void add_code(struct builder *b, struct json_object *to,
		     const char *name, uint32_t code)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08" PRIX32, code);
	add_text(b, to, name, text);
}

static struct json_object *make_reasons(struct builder *b,
					const struct status_counters *c)
{
	struct json_object *list = json_object_new_array();
	int i;

	for (i = 0; i < REASON_COUNT; i++) {
		struct json_object *o;
		uint32_t code = reason_code(i);

		if (!c->fallbacks[i])
			continue;
		o = json_object_new_object();
		add_text(b, o, "name", reason_name(code));
		add_code(b, o, "code", code);
		add_number(b, o, "count", c->fallbacks[i]);
		add_text(b, o, "text", reason_text(code));
		add_text(b, o, "cure", reason_cure(code));
		append(b, list, o);
	}
	return list;
}

static void add_end(struct builder *b, struct json_object *to, const char *name,
		    const struct in6_addr *address, unsigned port)
{
	struct json_object *o = json_object_new_object();
	char text[INET6_ADDRSTRLEN];

	statistics_host(address, text, sizeof(text));
	add_text(b, o, "address", text);
	add_number(b, o, "port", port);
	add(b, to, name, o);
}

static struct json_object *make_connection(struct builder *b,
					   const struct status_connection *c)
{
	struct json_object *o = json_object_new_object();
	struct json_object *pids = json_object_new_array();
	const struct status_slot *slot = &c->slot;
	int i;

	add_text(b, o, "state", statistics_state(slot->state));
	add_text(b, o, "role",
		 slot->role == STATUS_SERVER ? "server" : "client");
	for (i = 0; i < c->holder_count; i++)
		append(b, pids, json_object_new_int(c->holder[i]));
	add(b, o, "pids", pids);
	add_text(b, o, "program", c->program);
	add_number(b, o, "uid", c->uid);
	add_end(b, o, "local", &slot->local, slot->local_port);
	add_end(b, o, "peer", &slot->peer, slot->peer_port);
	add_text(b, o, "link", statistics_link(slot->link));
	add_number(b, o, "group", slot->group);
	add_number(b, o, "peer_pid",
		   (uint64_t)(slot->peer_pid > 0 ? slot->peer_pid : 0));
	add_text(b, o, "reason", slot->reason ? reason_name(slot->reason) : "");
	add_code(b, o, "reason_code", slot->reason);
	add_code(b, o, "peer_reason_code", slot->peer_reason);
	add_number(b, o, "bytes_received", slot->rx.position);
	add_number(b, o, "bytes_sent", slot->tx.position);
	add_number(b, o, "requests_received", slot->rx.requests);
	add_number(b, o, "requests_sent", slot->tx.requests);
	add_number(b, o, "rmbe_in", slot->rmbe_in);
	add_number(b, o, "rmbe_out", slot->rmbe_out);
	add_number(b, o, "started_ms", slot->started_ms);
	return o;
}

static struct json_object *make_group(struct builder *b,
				      const struct statistics_group *g)
{
	struct json_object *o = json_object_new_object();
	char peer[INET6_ADDRSTRLEN];

	add_number(b, o, "pid", (uint64_t)g->maker);
	add_number(b, o, "number", g->number);
	add_text(b, o, "program", g->program);
	add_text(b, o, "role", g->role == STATUS_SERVER ? "server" : "client");
	add_text(b, o, "link", statistics_link(g->link));
	statistics_host(&g->peer, peer, sizeof(peer));
	add_text(b, o, "peer", peer);
	add_number(b, o, "peer_pid",
		   (uint64_t)(g->peer_pid > 0 ? g->peer_pid : 0));
	add_number(b, o, "connections", g->connections);
	add_number(b, o, "rmbe_bytes", g->rmbe_bytes);
	return o;
}

static void add_now(struct builder *b, struct json_object *to,
		    const struct statistics *s)
{
	struct json_object *o = json_object_new_object();

	add_number(b, o, "processes", s->sum.processes);
	add_number(b, o, "starting", s->sum.starting);
	add_number(b, o, "active", s->sum.active);
	add_number(b, o, "closing", s->sum.closing);
	add_number(b, o, "tcp", s->sum.tcp);
	add_number(b, o, "rmb_bytes", s->sum.rmb_bytes);
	add_number(b, o, "rmb_reserved", s->sum.rmb_reserved);
	add_number(b, o, "rmb_limit", s->settings.max_memory_bytes);
	add(b, to, "now", o);
}

static struct json_object *make_user(struct builder *b,
				     const struct statistics_user *u)
{
	struct json_object *o = json_object_new_object();
	char name[33];

	statistics_user_name(u->uid, name, sizeof(name));
	add_number(b, o, "uid", u->uid);
	add_text(b, o, "name", name);
	add_number(b, o, "rmb_bytes", u->bytes);
	return o;
}

static struct json_object *make_place(struct builder *b,
				      const struct statistics_place *p)
{
	struct json_object *o = json_object_new_object();
	char text[INET6_ADDRSTRLEN], figures[160];

	statistics_host(&p->address, text, sizeof(text));
	statistics_figures(p, figures, sizeof(figures));
	add_number(b, o, "netns", p->netns);
	add_text(b, o, "address", text);
	add_number(b, o, "port", p->port);
	add_text(b, o, "reason",
		 p->tcp_ms ? reason_name(REASON_NOT_WORTH_IT) : "");
	add_number(b, o, "tcp_ms", p->tcp_ms);
	add_number(b, o, "ended_ms_ago", p->ago_ms);
	add_number(b, o, "connections_per_second", p->per_second);
	add_number(b, o, "life_us", p->life_us);
	add_number(b, o, "bytes", p->bytes);
	add(b, o, "requests", json_object_new_double(p->requests));
	add_text(b, o, "text", figures);
	return o;
}

/* ---- The link service --------------------------------------------------- */

static void add_gid(struct builder *b, struct json_object *to, const char *name,
		    const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	add_text(b, to, name, text);
}

/* "Confirm Link" is "confirm_link" here. */
static void add_llc(struct builder *b, struct json_object *to, const char *name,
		    const uint64_t *counts)
{
	struct json_object *o = json_object_new_object();

	for (unsigned type = 0; type < FAR_LLC_TYPES; type++) {
		const char *from = statistics_llc(type);
		char key[32];
		size_t n = 0;

		for (; from && from[n] && n < sizeof(key) - 1; n++)
			key[n] = from[n] == ' ' ? '_' : (char)tolower(from[n]);
		key[n] = '\0';
		if (from)
			add_number(b, o, key, counts[type]);
	}
	add(b, to, name, o);
}

static void add_far_counts(struct builder *b, struct json_object *to,
			   const struct far_counts *c)
{
	struct json_object *o = json_object_new_object();

	add_number(b, o, "connections", c->connections);
	add_number(b, o, "registrations", c->registrations);
	add_number(b, o, "bytes_sent", c->bytes_sent);
	add_number(b, o, "bytes_received", c->bytes_received);
	add_number(b, o, "writes", c->writes);
	add_number(b, o, "cdc_sent", c->cdc_sent);
	add_number(b, o, "cdc_received", c->cdc_received);
	add_llc(b, o, "llc_sent", c->llc_sent);
	add_llc(b, o, "llc_received", c->llc_received);
	add(b, to, "counters", o);
}

static struct json_object *make_port(struct builder *b,
				     const struct far_port_row *r)
{
	struct json_object *o = json_object_new_object();
	struct in6_addr local;
	char text[INET6_ADDRSTRLEN];

	memcpy(&local, r->local, sizeof(local));
	statistics_host(&local, text, sizeof(text));
	add_text(b, o, "interface", r->interface);
	add_text(b, o, "device", r->device);
	add_number(b, o, "port", r->number);
	add_number(b, o, "roce_version", r->roce_version);
	add_text(b, o, "local", text);
	add_gid(b, o, "gid", r->gid);
	add(b, o, "broken", json_object_new_boolean(r->broken != 0));
	add_number(b, o, "link_groups", r->groups);
	add_far_counts(b, o, &r->counts);
	return o;
}

static struct json_object *make_far_group(struct builder *b,
					  const struct far_group_row *r)
{
	struct json_object *o = json_object_new_object();
	char id[2 * sizeof(r->peer_id) + 1];

	for (size_t i = 0; i < sizeof(r->peer_id); i++)
		snprintf(id + 2 * i, 3, "%02x", r->peer_id[i]);
	add_text(b, o, "peer_id", id);
	add_text(b, o, "role", r->server ? "server" : "client");
	add_number(b, o, "smc_version", r->version);
	add_text(b, o, "state", statistics_group_state(r->state));
	add_text(b, o, "interface", r->interface);
	add_gid(b, o, "gid", r->gid);
	add_gid(b, o, "peer_gid", r->peer_gid);
	add_number(b, o, "link", r->link);
	add_number(b, o, "qp", r->qpn);
	add_number(b, o, "peer_qp", r->peer_qpn);
	add_number(b, o, "connections", r->connections);
	add_number(b, o, "rmbs", r->rmbs);
	add_number(b, o, "rmb_bytes", r->rmb_bytes);
	add_far_counts(b, o, &r->counts);
	return o;
}

static void add_service(struct builder *b, struct json_object *to,
			const struct far_status *s)
{
	struct json_object *ports = json_object_new_array();
	struct json_object *groups = json_object_new_array();

	for (uint32_t i = 0; s && i < s->ports; i++)
		append(b, ports, make_port(b, &s->port[i]));
	for (uint32_t i = 0; s && i < s->groups; i++)
		append(b, groups, make_far_group(b, &s->group[i]));
	add(b, to, "link_service", json_object_new_boolean(s != NULL));
	add(b, to, "roce_interfaces", ports);
	add(b, to, "rdma_link_groups", groups);
	add_number(b, to, "rdma_link_groups_not_shown",
		   s ? s->groups_all - s->groups : 0);
}

static struct json_object *make_all(struct builder *b,
				    const struct statistics *s)
{
	struct json_object *o = json_object_new_object();
	struct json_object *counters = json_object_new_object();
	struct json_object *absolute = json_object_new_object();
	struct json_object *groups = json_object_new_array();
	struct json_object *connections = json_object_new_array();
	struct json_object *users = json_object_new_array();
	struct json_object *places = json_object_new_array();
	size_t i;

	add_text(b, o, "device", s->device);
	add_text(b, o, "type", "SMC-R");
	add(b, o, "enabled", json_object_new_boolean(s->settings.enabled));
	add_number(b, o, "elapsed_seconds", s->elapsed_seconds);
	add_now(b, o, s);
	add_counters(b, counters, &s->sum.counters);
	add(b, o, "counters", counters);
	add_counters(b, absolute, &s->absolute);
	add(b, o, "absolute", absolute);
	add(b, o, "reasons", make_reasons(b, &s->sum.counters));
	for (i = 0; i < s->user_count; i++)
		append(b, users, make_user(b, &s->user[i]));
	add(b, o, "users", users);
	for (i = 0; i < s->place_count; i++)
		append(b, places, make_place(b, &s->place[i]));
	add(b, o, "places", places);
	for (i = 0; i < s->group_count; i++)
		append(b, groups, make_group(b, &s->group[i]));
	add(b, o, "link_groups", groups);
	for (i = 0; i < s->connection_count; i++)
		append(b, connections, make_connection(b, &s->connection[i]));
	add(b, o, "connections", connections);
	add_service(b, o, s->service);
	return o;
}

int statistics_print_json(FILE *out, const struct statistics *s)
{
	struct builder b = {.failed = false};
	struct json_object *o = make_all(&b, s);
	const char *text = NULL;

	if (!b.failed)
		text = json_object_to_json_string_ext(
		    o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		fprintf(out, "%s\n", text);
	json_object_put(o);
	return text ? 0 : -ENOMEM;
}
