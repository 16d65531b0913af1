/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * uverbs_cq: the commands on completion queues.
 */
#include "ofed_core/uverbs/uverbs.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ofed_core/base/untrusted_fd.h"
#include "ofed_core/verbs/cq.h"
#include "ofed_core/verbs/object.h"

static int find_channel(struct command *c, struct channel **out)
{
	*out = NULL;
	if (!c->fd_inode)
		return -EBADF;
	for (uint32_t i = 0; i < c->client->objects.room; i++) {
		struct channel *ch = object_find(c->client, i, OBJECT_CHANNEL);

		if (ch && ch->notifier.inode == c->fd_inode) {
			*out = ch;
			return 0;
		}
	}
	return -EINVAL;
}

/* The answer has the same fields in either form; base is where they begin. */
static int create(struct command *c, const struct ib_uverbs_ex_create_cq *q,
		  struct ib_uverbs_create_cq_resp *base, const void *answer,
		  size_t answer_bytes)
{
	struct rxe_create_cq_resp driver = {0};
	struct channel *ch = NULL;
	struct cq *cq;
	int rc = 0;

	if (!q->cqe || q->cqe > MAX_CQE || q->comp_vector >= 1)
		return -EINVAL;
	if (q->comp_channel >= 0)
		rc = find_channel(c, &ch);
	if (rc < 0)
		return rc;
	rc = cq_create(c->client, q->cqe, ch, &cq);
	if (rc < 0)
		return rc;
	cq->o.user_handle = q->user_handle;
	cq->channel_number = q->comp_channel;
	base->cq_handle = cq->o.handle;
	base->cqe = ring_capacity(cq->ring);
	driver.mi = ring_info(cq->ring);
	return command_answer(c, answer, answer_bytes, &driver, sizeof(driver));
}

int uverbs_create_cq(struct command *c)
{
	const struct ib_uverbs_create_cq *q = c->in;
	struct ib_uverbs_ex_create_cq ex = {.user_handle = q->user_handle,
					    .cqe = q->cqe,
					    .comp_vector = q->comp_vector,
					    .comp_channel = q->comp_channel};
	struct ib_uverbs_create_cq_resp r = {0};

	return create(c, &ex, &r, &r, sizeof(r));
}

int uverbs_ex_create_cq(struct command *c)
{
	const struct ib_uverbs_ex_create_cq *q = c->in;
	struct ib_uverbs_ex_create_cq_resp r = {.response_length = sizeof(r)};

	if (q->comp_mask || q->flags || q->reserved)
		return -EOPNOTSUPP;
	return create(c, q, &r.base, &r, sizeof(r));
}

int uverbs_resize_cq(struct command *c)
{
	const struct ib_uverbs_resize_cq *q = c->in;
	struct ib_uverbs_resize_cq_resp r = {0};
	struct rxe_resize_cq_resp driver = {0};
	struct cq *cq = c->object;
	int rc;

	if (!q->cqe || q->cqe > MAX_CQE)
		return -EINVAL;
	rc = cq_resize(cq, q->cqe);
	if (rc < 0)
		return rc;
	r.cqe = ring_capacity(cq->ring);
	driver.mi = ring_info(cq->ring);
	return command_answer(c, &r, sizeof(r), &driver, sizeof(driver));
}

/*
 * The program's end of the channel, where it was when the queue was made; -1
 * when the program has it no more.
 */
static int borrow_reader(const struct command *c, const struct cq *cq)
{
	int process = (int)syscall(SYS_pidfd_open, c->pid, 0);
	struct stat st;
	int fd;

	if (process < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, process, cq->channel_number, 0);
	close(process);
	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
		       st.st_ino == cq->channel->notifier.inode))
		return fd;
	untrusted_fd_close(fd);
	return -1;
}

/* How many events of the queue the program has taken and must acknowledge. */
static uint32_t events_taken(const struct command *c, struct cq *cq)
{
	uint32_t unread;
	int reader;

	if (!cq->channel || !cq->comp_sent)
		return 0;
	reader = borrow_reader(c, cq);
	unread = notifier_withdraw(&cq->channel->notifier, reader,
				   cq->o.user_handle);
	if (reader >= 0)
		close(reader);
	return cq->comp_sent > unread ? cq->comp_sent - unread : 0;
}

int uverbs_destroy_cq(struct command *c)
{
	struct ib_uverbs_destroy_cq_resp r = {0};
	struct cq *cq = c->object;

	if (atomic_load(&cq->o.refs))
		return -EBUSY;
	r.comp_events_reported = events_taken(c, cq);
	r.async_events_reported = event_reported(&cq->o);
	object_destroy(&cq->o);
	return command_answer(c, &r, sizeof(r), NULL, 0);
}

/*
 * A program comes this way whose shim does not know the ring, or has seen that
 * completions lie in it.
 */
int uverbs_req_notify_cq(struct command *c)
{
	const struct ib_uverbs_req_notify_cq *q = c->in;

	cq_arm(c->object, q->solicited_only);
	return 0;
}
