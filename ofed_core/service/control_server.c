/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control_server: answers ofedctrl.
 */
#include "ofed_core/service/control_server.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/control.h"
#include "ofed_core/base/log.h"
#include "ofed_core/base/params.h"
#include "ofed_core/base/untrusted_fd.h"
#include "ofed_core/cm/cm_id.h"
#include "ofed_core/service/serve.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/wire/wire.h"

#define OUTPUT_BYTES 65536

struct session {
	struct source source;
	struct session *next;
	uid_t uid;
	struct quota *quota; /* of the user */
	size_t used;
	char line[CONTROL_LINE_BYTES];
};

struct output {
	const char *arguments; /* of the request */
	bool is_refused;
	size_t used;
	char text[OUTPUT_BYTES];
};

enum unload_step {
	UNLOAD_NO,
	UNLOAD_TERM,
	UNLOAD_KILL,
	UNLOAD_END
};

#define UNLOAD_LOOK_NS (50 * NS_PER_MS)

static struct session *sessions; /* worker 0's, as long as it runs */
static unsigned session_count;
static struct timer unload_timer;
static enum unload_step unload_step;
static uint64_t unload_deadline; /* the end of the step */

static void say(struct output *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct output *o, const char *format, ...)
{
	va_list a;
	int n;

	va_start(a, format);
	n = vsnprintf(o->text + o->used, sizeof(o->text) - o->used, format, a);
	va_end(a);
	if (n > 0 && (size_t)n < sizeof(o->text) - o->used)
		o->used += (size_t)n;
}

/* ---- Unloading ---- */

static bool has_users(void)
{
	for (struct client *c = clients; c; c = c->next)
		if (c->kind != CLIENT_NEW)
			return true;
	return false;
}

static void on_unload(struct timer *t)
{
	uint64_t now = clock_ns();
	uint64_t delay = NS_PER_MS;

	if (!has_users()) {
		unload_step = UNLOAD_END;
	} else if (now < unload_deadline) {
		timer_set(t, now + UNLOAD_LOOK_NS);
		return;
	}
	switch (unload_step) {
	case UNLOAD_TERM:
		log_info("SIGTERM to %u programs", clients_signal(SIGTERM));
		delay *= (uint64_t)param(PARAMETER_DELAY_BETWEEN_SIGNALS);
		unload_step = UNLOAD_KILL;
		break;
	case UNLOAD_KILL:
		log_info("SIGKILL to %u programs", clients_signal(SIGKILL));
		delay *= 100;
		unload_step = UNLOAD_END;
		break;
	case UNLOAD_NO:
	case UNLOAD_END:
		workers_stop();
		return;
	}
	unload_deadline = now + delay;
	timer_set(t, now + UNLOAD_LOOK_NS);
}

/* Notice, SIGTERM, SIGKILL, end. */
static void do_unload(struct output *o)
{
	(void)o;
	if (unload_step != UNLOAD_NO)
		return;
	serve_lose(NULL);
	unload_step = UNLOAD_TERM;
	unload_deadline =
	    clock_ns() + (uint64_t)param(PARAMETER_DELAY_KILL) * NS_PER_MS;
	timer_set(&unload_timer, clock_ns() + NS_PER_MS);
}

/* ---- Requests ---- */

static void refuse(struct output *o, int error, const char *words)
{
	o->used = 0;
	o->is_refused = true;
	say(o, "error %d %s\n", -error, words);
}

static void do_query(struct output *o)
{
	for (int i = 0; i < PARAMETER_COUNT; i++)
		say(o, "=%s %ld\n", parameter_table[i].name,
		    param((enum parameter_id)i));
}

static void do_set(struct output *o)
{
	char name[64];
	char value[64];
	char extra;
	struct parameters p;
	int rc;

	if (sscanf(o->arguments, "%63s %63s %c", name, value, &extra) != 2) {
		refuse(o, -EINVAL, "set needs a name and a value");
		return;
	}
	params_get(&p);
	rc = parameters_set(&p, name, value);
	if (rc == 0)
		params_put(&p);
	else if (rc == -ENOENT)
		refuse(o, rc, "no such parameter");
	else if (rc == -ERANGE)
		refuse(o, rc, "value is outside the allowed range");
	else
		refuse(o, rc, "value is not a number");
}

static void do_reload(struct output *o)
{
	struct parameters p;
	char words[160];
	int line;
	int rc;

	parameters_init(&p);
	rc = parameters_read(&p, parameters_path(), &line);
	if (rc == 0) {
		params_put(&p);
		return;
	}
	snprintf(words, sizeof(words), "%.100s, line %d: %s", parameters_path(),
		 line, strerror(-rc));
	refuse(o, rc, words);
}

static void read_name(pid_t pid, char *out, size_t size)
{
	char path[32];
	FILE *f;

	snprintf(out, size, "-");
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static void do_clients(struct output *o)
{
	for (struct client *c = clients; c; c = c->next) {
		unsigned contexts = 0;
		unsigned qp_count = 0;
		bool is_first = c->kind != CLIENT_NEW;
		char name[32];

		for (struct client *k = clients; k; k = k->next) {
			if (k->pid != c->pid || k->kind == CLIENT_NEW)
				continue;
			if (k == c)
				break;
			is_first = false;
		}
		for (struct client *k = clients; k && is_first; k = k->next) {
			if (k->pid != c->pid)
				continue;
			contexts += k->kind == CLIENT_UVERBS;
			for (uint32_t i = 0; i < k->objects.room; i++)
				qp_count +=
				    object_find(k, i, OBJECT_QP) != NULL;
		}
		if (!is_first)
			continue;
		read_name(c->pid, name, sizeof(name));
		say(o, "=%d %u %u %u %s\n", (int)c->pid, (unsigned)c->uid,
		    contexts, qp_count, name);
	}
}

static void do_devices(struct output *o)
{
	for (unsigned i = 0; i < device_count; i++) {
		const struct device *d = &devices[i];

		if (!d->is_gone)
			say(o, "=%s %s %s %u\n", d->name, d->netdev,
			    d->is_up ? "ACTIVE" : "DOWN",
			    mtu_bytes(device_mtu(d)));
	}
}

static void do_listeners(struct output *o)
{
	pthread_mutex_lock(&cm_lock);
	for (const struct cm_id *id = cm_ids; id; id = id->next)
		if (id->state == CM_LISTEN && id->channel)
			say(o, "=%s %u %d\n",
			    id->space == RDMA_PS_TCP ? "TCP" : "UDP",
			    id->source.port, (int)id->channel->client->pid);
	pthread_mutex_unlock(&cm_lock);
}

static void do_statistics(struct output *o)
{
	for (int i = 0; i < WIRE_COUNTERS; i++)
		say(o, "=%s %llu\n", wire_counter_name[i],
		    (unsigned long long)wire_counter((enum wire_counter)i));
	say(o, "=queue_pairs %u\n", qp_total());
	say(o, "=control_connections %u\n", session_count);
	say(o, "=wire_is_open %d\n", wire_is_open());
}

static void do_ping(struct output *o)
{
	say(o, "=version 1\n=pid %d\n", (int)getpid());
}

static bool is_allowed(const struct session *s)
{
	return s->uid == 0 || s->uid == geteuid();
}

static const struct request {
	const char *line; /* the whole one, or what arguments follow */
	void (*run)(struct output *o);
	bool is_change;
} requests[] = {
    {"query", do_query, false},           {"set ", do_set, true},
    {"reload", do_reload, true},          {"clients", do_clients, false},
    {"devices", do_devices, false},       {"listeners", do_listeners, false},
    {"statistics", do_statistics, false}, {"ping", do_ping, false},
    {"unload", do_unload, true},
};

static const struct request *find_request(const char *line)
{
	const size_t count = sizeof(requests) / sizeof(requests[0]);
	size_t n = strcspn(line, " ");

	n += line[n] == ' ';
	for (const struct request *r = requests; r < requests + count; r++)
		if (strlen(r->line) == n && memcmp(r->line, line, n) == 0)
			return r;
	return NULL;
}

static void run(struct session *s, struct output *o, const char *line)
{
	const struct request *r = find_request(line);

	o->used = 0;
	o->is_refused = false;
	if (!r) {
		refuse(o, -EINVAL, "no such request");
	} else if (r->is_change && !is_allowed(s)) {
		refuse(o, -EPERM, "only root or the owner of the core may");
	} else {
		o->arguments = line + strlen(r->line);
		r->run(o);
	}
	if (!o->is_refused)
		say(o, "ok\n");
}

static void session_end(struct session *s)
{
	struct session **link = &sessions;

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	worker_remove_source(worker_self(), &s->source);
	close(s->source.fd);
	quota_give(s->quota, QUOTA_FILES, 1);
	session_count--;
	free(s);
}

static bool serve_lines(struct session *s)
{
	static struct output o;
	char *end;

	while ((end = memchr(s->line, '\n', s->used))) {
		size_t n = (size_t)(end - s->line);

		*end = '\0';
		pthread_rwlock_wrlock(&core_lock);
		run(s, &o, s->line);
		pthread_rwlock_unlock(&core_lock);
		if (send(s->source.fd, o.text, o.used,
			 MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)o.used)
			return false;
		s->used -= n + 1;
		memmove(s->line, end + 1, s->used);
	}
	return s->used < sizeof(s->line);
}

static void session_ready(struct source *source, uint32_t events)
{
	struct session *s = (struct session *)source;
	ssize_t n = recv(s->source.fd, s->line + s->used,
			 sizeof(s->line) - s->used, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		s->used += (size_t)n;
	if (n <= 0 || !serve_lines(s))
		session_end(s);
}

static int session_create(int fd)
{
	struct session *s = calloc(1, sizeof(*s));
	struct ucred u;
	socklen_t size = sizeof(u);
	int rc = -ENOMEM;

	if (!s || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size) < 0)
		goto fail;
	s->source = (struct source){.fd = fd, .ready = session_ready};
	s->uid = u.uid;
	s->quota = quota_of(u.uid);
	if (!s->quota || quota_take(s->quota, QUOTA_FILES, 1) < 0) {
		rc = -EMFILE;
		goto fail;
	}
	rc = worker_add_source(worker_at(0), &s->source);
	if (rc < 0) {
		quota_give(s->quota, QUOTA_FILES, 1);
		goto fail;
	}
	s->next = sessions;
	sessions = s;
	session_count++;
	return 0;
fail:
	free(s);
	return rc;
}

static void listener_ready(struct source *source, uint32_t events)
{
	static struct output o;
	int fd = untrusted_fd_accept(source->fd, SOCK_CLOEXEC);
	int rc;

	(void)events;
	if (fd < 0)
		return;
	rc = session_create(fd);
	if (rc == 0)
		return;
	/* The answer to whatever it is going to ask. */
	refuse(&o, rc, "this user has as many descriptors as he may have");
	if (send(fd, o.text, o.used, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("refusal not taken: error %d", errno);
	close(fd);
}

void control_forget(void)
{
	while (sessions) {
		struct session *s = sessions;

		sessions = s->next;
		free(s);
	}
}

int control_listen(void)
{
	static struct source listener = {.ready = listener_ready};
	int fd = control_open(NULL);

	if (fd >= 0) {
		close(fd);
		return -EALREADY;
	}
	listener.fd = untrusted_fd_listen("control", SOCK_STREAM, 16);
	if (listener.fd < 0)
		return listener.fd;
	timer_init(&unload_timer, worker_at(0), on_unload);
	return worker_add_source(worker_at(0), &listener);
}
