/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * notifier: a descriptor in a program on which the core delivers events.
 */
#include "ofed_core/base/notifier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ofed_core/base/log.h"

#define BACKLOG_MAX  (1u << 20)
#define RETRY_NS     (5 * NS_PER_MS)
#define BUFFER_BYTES (8 << 20)

static void flush_backlog(struct notifier *n)
{
	size_t done = 0;

	while (done < n->backlog_bytes &&
	       send(n->fd, n->backlog + done, n->record,
		    MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		done += n->record;
	/* The program has closed its end. */
	if (done < n->backlog_bytes && errno != EAGAIN)
		done = n->backlog_bytes;
	n->backlog_bytes -= done;
	memmove(n->backlog, n->backlog + done, n->backlog_bytes);
	if (n->backlog_bytes)
		timer_set(&n->retry, clock_ns() + RETRY_NS);
}

static void on_retry(struct timer *t)
{
	struct notifier *n =
	    (struct notifier *)((char *)t - offsetof(struct notifier, retry));

	pthread_mutex_lock(&n->lock);
	flush_backlog(n);
	pthread_mutex_unlock(&n->lock);
}

int notifier_open(struct notifier *n, struct worker *w, size_t record)
{
	int size = BUFFER_BYTES;
	int pair[2];
	struct stat st;
	int rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (fstat(pair[1], &st) < 0) {
		rc = -errno;
		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	if (setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size,
		       sizeof(size)) < 0)
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	*n = (struct notifier){.fd = pair[0],
			       .reader = pair[1],
			       .inode = st.st_ino,
			       .record = record};
	pthread_mutex_init(&n->lock, NULL);
	timer_init(&n->retry, w, on_retry);
	return 0;
}

void notifier_close(struct notifier *n)
{
	if (!n->record)
		return;
	timer_cancel(&n->retry);
	close(n->fd);
	if (n->reader >= 0)
		close(n->reader);
	free(n->backlog);
	pthread_mutex_destroy(&n->lock);
	*n = (struct notifier){.fd = -1, .reader = -1};
}

static int keep(struct notifier *n, const void *record)
{
	if (n->backlog_bytes + n->record > BACKLOG_MAX) {
		log_warning("a program leaves its events unread: one is lost");
		return -ENOBUFS;
	}
	if (!n->backlog)
		n->backlog = malloc(BACKLOG_MAX);
	if (!n->backlog)
		return -ENOBUFS;
	memcpy(n->backlog + n->backlog_bytes, record, n->record);
	n->backlog_bytes += n->record;
	timer_set(&n->retry, clock_ns() + RETRY_NS);
	return 0;
}

static int deliver(struct notifier *n, const void *record)
{
	if (!n->backlog_bytes &&
	    send(n->fd, record, n->record, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	if (!n->backlog_bytes && errno != EAGAIN)
		return -errno;
	return keep(n, record);
}

int notifier_send(struct notifier *n, const void *record)
{
	int rc;

	pthread_mutex_lock(&n->lock);
	rc = deliver(n, record);
	pthread_mutex_unlock(&n->lock);
	return rc;
}

uint32_t notifier_withdraw(struct notifier *n, int reader, uint64_t key)
{
	unsigned char record[NOTIFIER_RECORD_MAX];
	unsigned char *others = NULL;
	size_t count = 0;
	uint32_t taken = 0;

	pthread_mutex_lock(&n->lock);
	while (recv(reader, record, n->record, MSG_DONTWAIT) ==
	       (ssize_t)n->record) {
		unsigned char *grown;

		if (memcmp(record, &key, sizeof(key)) == 0) {
			taken++;
			continue;
		}
		grown = realloc(others, (count + 1) * n->record);
		if (!grown)
			continue;
		others = grown;
		memcpy(others + count++ * n->record, record, n->record);
	}
	for (size_t i = 0; i < n->backlog_bytes; i += n->record) {
		if (memcmp(n->backlog + i, &key, sizeof(key)) != 0)
			continue;
		n->backlog_bytes -= n->record;
		memmove(n->backlog + i, n->backlog + i + n->record,
			n->backlog_bytes - i);
		i -= n->record;
		taken++;
	}
	for (size_t i = 0; i < count; i++)
		deliver(n, others + i * n->record);
	free(others);
	pthread_mutex_unlock(&n->lock);
	return taken;
}
