/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * serve: connections of the shim, their requests and their end.
 */
#include "ofed_core/service/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/untrusted_fd.h"
#include "ofed_core/cm/cm.h"
#include "ofed_core/qp/qp_state.h"
#include "ofed_core/ucma/ucma.h"
#include "ofed_core/ucma/ucma_channel.h"
#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/object.h"
#include "ofed_core/verbs/qp_table.h"
#include "ofed_core/wire/wire.h"

#define MESSAGES_MAX 32 /* one client's, before others have their turn */
#define HANDLES_MAX  262144
#define CLIENT_FILES 2 /* the connection and the process */

struct message {
	struct shim_request request;
	unsigned char bytes[SHIM_COMMAND_BYTES];
	pid_t pid;
	int fds[2];
	unsigned fd_count;
};

static unsigned next_worker;
static bool is_closed; /* nobody may open a node any more */

/* ---- The end of a client ---- */

static void destroy_objects(struct client *c)
{
	/* Users before what they use. */
	static const enum object_type order[] = {
	    OBJECT_QP, OBJECT_SRQ, OBJECT_CQ, OBJECT_CHANNEL,
	    OBJECT_AH, OBJECT_MW,  OBJECT_MR, OBJECT_PD};

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (uint32_t i = 0; i < c->objects.room; i++) {
			struct object *o = table_get(&c->objects, i);

			if (o && o->type == order[k])
				object_destroy(o);
		}
	table_fini(&c->objects);
}

static bool has_node(pid_t pid)
{
	for (const struct client *c = clients; c; c = c->next)
		if (c->pid == pid)
			return true;
	return false;
}

static void client_destroy(struct client *c)
{
	worker_remove_source(c->worker, &c->source);
	pthread_rwlock_wrlock(&core_lock);
	if (c->cm)
		ucma_channel_destroy(c->cm);
	destroy_objects(c);
	while (c->rings)
		object_ring_drop(c, c->rings);
	while (c->owners) {
		struct owner *o = c->owners;

		c->owners = o->next;
		quota_give(c->quota, QUOTA_FILES, 1);
		owner_destroy(o);
	}
	if (c->has_context)
		quota_give(c->quota, QUOTA_FILES, NOTIFIER_FILES);
	notifier_close(&c->async);
	client_remove(c);
	if (!has_node(c->pid))
		cm_release_all_requests();
	pthread_rwlock_unlock(&core_lock);
	log_debug("client %d has gone", (int)c->pid);
	if (c->pidfd >= 0)
		close(c->pidfd);
	close(c->source.fd);
	quota_give(c->quota, QUOTA_FILES, CLIENT_FILES);
	free(c);
}

/* ---- Answers ---- */

static void answer(int fd, int result, const void *bytes, size_t count,
		   int pass_fd, uint32_t fd_offset)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct shim_reply reply = {.result = result,
				   .bytes = result < 0 ? 0 : (uint32_t)count,
				   .fd_offset = fd_offset};
	struct iovec iov[2] = {{&reply, sizeof(reply)},
			       {(void *)(uintptr_t)bytes, reply.bytes}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};

	if (result >= 0 && pass_fd >= 0) {
		struct cmsghdr *h;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &pass_fd, sizeof(int));
	}
	if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("answer not taken: error %d", errno);
}

/* ---- Requests ---- */

static int list_devices(struct shim_device *out)
{
	int n = 0;

	for (unsigned i = 0; i < device_count && n < SHIM_DEVICES_MAX; i++) {
		const struct device *d = &devices[i];

		if (d->is_gone)
			continue;
		out[n] =
		    (struct shim_device){.node_guid = d->node_guid,
					 .uverbs = d->uverbs,
					 .index = SHIM_DEVICE_INDEX(d->uverbs)};
		out[n].ifindex = d->ifindex;
		out[n].is_up = d->is_up;
		memcpy(out[n].netdev, d->netdev, sizeof(d->netdev));
		memcpy(out[n++].name, d->name, sizeof(d->name));
	}
	return n;
}

static int open_node(struct client *c, const struct shim_request *r)
{
	if (r->offset != SHIM_PROTOCOL) {
		log_warning("pid %d has a shim of another version",
			    (int)c->pid);
		return -EPROTO;
	}
	if (c->kind != CLIENT_NEW)
		return -EINVAL;
	if (is_closed)
		return -ENODEV;
	if (r->kind == SHIM_OPEN_CM) {
		int rc = ucma_channel_create(&c->cm, c);

		if (rc == 0)
			c->kind = CLIENT_CM;
		return rc;
	}
	c->device = device_by_uverbs(r->argument);
	if (!c->device)
		return -ENODEV;
	c->kind = CLIENT_UVERBS;
	return 0;
}

static int map_ring(struct client *c, uint64_t offset, int *fd)
{
	for (struct ring *r = c->rings; r; r = r->next)
		if (r->offset == offset && r->memfd >= 0) {
			/* Mapped once; the memory then needs no descriptor. */
			*fd = r->memfd;
			r->memfd = -1;
			quota_give(c->quota, QUOTA_FILES, 1);
			return 0;
		}
	return -EINVAL;
}

static void run_command(struct client *c, struct message *m)
{
	unsigned char out[SHIM_COMMAND_BYTES] = {0};
	struct command k = {.client = c,
			    .pid = m->pid,
			    .out = out,
			    .out_max = sizeof(out),
			    .fd_out = -1};
	struct stat st;
	int rc;

	if (m->fd_count > 1 && fstat(m->fds[1], &st) == 0)
		k.fd_inode = st.st_ino;
	if (c->kind == CLIENT_UVERBS)
		rc = uverbs_command(&k, m->bytes, m->request.bytes);
	else if (c->kind == CLIENT_CM)
		rc = ucma_command(&k, m->bytes, m->request.bytes);
	else
		rc = -EINVAL;
	answer(m->fds[0], rc, out, k.out_bytes, k.fd_out, k.fd_offset);
	if (k.is_given)
		close(k.fd_out);
}

static void ring_doorbell(struct client *c, uint32_t handle)
{
	struct qp *qp;

	pthread_rwlock_rdlock(&core_lock);
	qp = object_find(c, handle, OBJECT_QP);
	if (qp)
		qp_run(qp);
	wire_flush();
	pthread_rwlock_unlock(&core_lock);
}

static void handle(struct client *c, struct message *m)
{
	struct shim_device list[SHIM_DEVICES_MAX];
	struct stat st;
	int fd = -1;
	int n;

	if (m->request.kind == SHIM_DOORBELL) {
		ring_doorbell(c, m->request.argument);
		return;
	}
	if (!m->fd_count)
		return;
	switch (m->request.kind) {
	case SHIM_COMMAND:
		run_command(c, m);
		return;
	case SHIM_LIST:
		pthread_rwlock_rdlock(&core_lock);
		n = list_devices(list);
		pthread_rwlock_unlock(&core_lock);
		answer(m->fds[0], 0, list, (size_t)n * sizeof(list[0]), -1, 0);
		return;
	case SHIM_MAP:
		pthread_rwlock_wrlock(&core_lock);
		n = map_ring(c, m->request.offset, &fd);
		pthread_rwlock_unlock(&core_lock);
		answer(m->fds[0], n, NULL, 0, fd, 0);
		if (fd >= 0)
			close(fd);
		return;
	case SHIM_OPEN_UVERBS:
	case SHIM_OPEN_CM:
		if (m->fd_count > 1 && fstat(m->fds[1], &st) == 0)
			c->inode = st.st_ino;
		pthread_rwlock_wrlock(&core_lock);
		n = open_node(c, &m->request);
		pthread_rwlock_unlock(&core_lock);
		break;
	default:
		n = -EINVAL;
		break;
	}
	answer(m->fds[0], n, NULL, 0, -1, 0);
}

static void take_control(struct message *m, struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred u;

			memcpy(&u, CMSG_DATA(c), sizeof(u));
			m->pid = u.pid;
		}
		if (c->cmsg_type == SCM_RIGHTS && bytes <= sizeof(m->fds)) {
			m->fd_count = (unsigned)(bytes / sizeof(int));
			memcpy(m->fds, CMSG_DATA(c), bytes);
		}
	}
}

/* The shim sends sockets only. */
static bool are_sockets(const struct message *m)
{
	for (unsigned i = 0; i < m->fd_count; i++)
		if (!untrusted_fd_is_socket(m->fds[i]))
			return false;
	return true;
}

/* 1: a message, 0: none now, -1: the connection has ended. */
static int receive(struct client *c, struct message *m)
{
	char control[CMSG_SPACE(2 * sizeof(int)) +
		     CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov[2] = {{&m->request, sizeof(m->request)},
			       {m->bytes, sizeof(m->bytes)}};
	struct msghdr h = {.msg_iov = iov,
			   .msg_iovlen = 2,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(c->source.fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	m->fd_count = 0;
	m->pid = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0)
		return -1;
	take_control(m, &h);
	if ((size_t)n < sizeof(m->request) || (h.msg_flags & MSG_TRUNC) ||
	    m->request.bytes != (size_t)n - sizeof(m->request))
		m->request.kind = 0;
	return 1;
}

static void client_ready(struct source *s, uint32_t events)
{
	struct client *c = (struct client *)s;
	static __thread struct message m;

	(void)events;
	for (int i = 0; i < MESSAGES_MAX; i++) {
		int rc = receive(c, &m);

		if (rc < 0) {
			client_destroy(c);
			return;
		}
		if (rc == 0)
			return;
		if (are_sockets(&m))
			handle(c, &m);
		for (unsigned k = 0; k < m.fd_count; k++)
			untrusted_fd_close(m.fds[k]);
	}
}

/* ---- The beginning of a client ---- */

static int client_create(int fd)
{
	struct client *c = calloc(1, sizeof(*c));
	struct ucred u;
	socklen_t size = sizeof(u);
	int on = 1;
	int rc;

	if (!c)
		return -ENOMEM;
	c->source = (struct source){.fd = fd, .ready = client_ready};
	c->worker = worker_at(next_worker++);
	c->async.fd = -1;
	table_init(&c->objects, HANDLES_MAX);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &size) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
		rc = -errno;
		goto fail;
	}
	c->pid = u.pid;
	c->uid = u.uid;
	c->quota = quota_of(u.uid);
	rc = c->quota ? quota_take(c->quota, QUOTA_FILES, CLIENT_FILES)
		      : -ENOMEM;
	if (rc < 0)
		goto fail;
	c->pidfd = u.pid > 1 ? (int)syscall(SYS_pidfd_open, u.pid, 0) : -1;
	pthread_rwlock_wrlock(&core_lock);
	client_add(c);
	pthread_rwlock_unlock(&core_lock);
	rc = worker_add_source(c->worker, &c->source);
	if (rc == 0)
		return 0;
	client_destroy(c);
	return 0;
fail:
	free(c);
	return rc;
}

static void listener_ready(struct source *s, uint32_t events)
{
	int fd = untrusted_fd_accept(s->fd, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (client_create(fd) < 0) {
		log_info("a program is refused");
		close(fd);
	}
}

int serve_listen(void)
{
	static struct source listener = {.ready = listener_ready};

	listener.fd = untrusted_fd_listen("verbs", SOCK_SEQPACKET, 128);
	return listener.fd < 0 ? listener.fd
			       : worker_add_source(worker_at(0), &listener);
}

/* Tells programs that use the device, or any device (NULL), of an event. */
static void notify(enum event_type type, const struct device *d)
{
	for (struct client *c = clients; c; c = c->next)
		if (c->has_context && (!d || c->device == d))
			event_send(c, NULL, type);
}

static void break_pairs(struct client *c)
{
	for (uint32_t i = 0; i < c->objects.room; i++) {
		struct qp *qp = object_find(c, i, OBJECT_QP);

		if (qp && atomic_load(&qp->state) != QP_RESET)
			qp_set_error(qp);
	}
}

void serve_lose(const struct device *d)
{
	is_closed |= !d;
	for (struct client *c = clients; c; c = c->next)
		if (!d || c->device == d)
			break_pairs(c);
	notify(EVENT_DEVICE_FATAL, d);
	cm_lose(d);
}

/* ---- Interfaces ---- */

static void on_change(const struct device *d, enum netdev_change change)
{
	switch (change) {
	case NETDEV_GIDS:
		notify(EVENT_GID_CHANGE, d);
		break;
	case NETDEV_LID:
		notify(EVENT_LID_CHANGE, d);
		break;
	case NETDEV_UP:
		notify(EVENT_PORT_ACTIVE, d);
		break;
	case NETDEV_DOWN:
		notify(EVENT_PORT_ERR, d);
		break;
	}
}

static bool is_used(const struct device *d)
{
	for (const struct client *c = clients; c; c = c->next)
		if (c->device == d)
			return true;
	return cm_uses(d);
}

const struct netdev_events serve_netdev_events = {
    .on_gone = serve_lose, .on_change = on_change, .is_used = is_used};
