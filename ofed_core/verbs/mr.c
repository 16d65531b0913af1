/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mr: memory regions: registering, and checking what keys give access to.
 */
#include "ofed_core/uverbs/uverbs.h"
#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct table keys = {.max = MAX_MR};

int key_add(struct client *c, struct object *o, uint32_t *key)
{
	int64_t slot = quota_take(c->quota, QUOTA_KEYS, 1);
	uint8_t variant;

	if (slot < 0)
		return (int)slot;
	slot = table_add(&keys, o);
	if (slot < 0) {
		quota_give(c->quota, QUOTA_KEYS, 1);
		return (int)slot;
	}
	/* Consecutive users of a slot get different keys. */
	if (getrandom(&variant, 1, GRND_NONBLOCK) < 0 || !variant)
		variant = 0x5a;
	*key = (uint32_t)slot << 8 | variant;
	return 0;
}

void key_remove(struct client *c, uint32_t key)
{
	table_remove(&keys, key >> 8);
	quota_give(c->quota, QUOTA_KEYS, 1);
}

struct object *key_find(uint32_t key)
{
	return table_get(&keys, key >> 8);
}

struct mr *mr_by_key(uint32_t key)
{
	struct object *o = key_find(key);
	struct mr *mr = (struct mr *)o;

	return o && o->type == OBJECT_MR && mr->key == key ? mr : NULL;
}

/* True when [address, +length) lies in the region. */
static bool is_inside(const struct mr *mr, uint64_t address, uint64_t length)
{
	return address >= mr->iova && length <= mr->length &&
	       address - mr->iova <= mr->length - length;
}

static struct span piece(const struct mr *mr, uint64_t address, uint64_t length)
{
	return (struct span){.owner = mr->owner,
			     .address = mr->start + (address - mr->iova),
			     .bytes = length};
}

int mr_resolve_local(const struct pd *pd, const struct sge *sge, unsigned count,
		     uint32_t access, struct span *out)
{
	for (unsigned i = 0; i < count; i++) {
		const struct mr *mr;

		if (!sge[i].length) {
			out[i] = (struct span){.bytes = 0};
			continue;
		}
		mr = mr_by_key(sge[i].lkey);
		if (!mr || mr->pd != pd || (mr->access & access) != access ||
		    !is_inside(mr, sge[i].address, sge[i].length))
			return -EINVAL;
		out[i] = piece(mr, sge[i].address, sge[i].length);
	}
	return 0;
}

int mr_resolve_remote(const struct qp *qp, uint32_t rkey,
		      struct remote_range range, struct span *out)
{
	const struct object *o;

	/* Key and address of an empty transfer are not checked (C9-88). */
	if (!range.length) {
		*out = (struct span){.bytes = 0};
		return 0;
	}
	o = key_find(rkey);
	if (o && o->type == OBJECT_MW) {
		if (mw_resolve((const struct mw *)o, qp, rkey, &range) < 0)
			return -EACCES;
	} else {
		range.mr = mr_by_key(rkey);
		if (!range.mr || range.mr->pd != qp->pd ||
		    !(range.mr->access & range.access) ||
		    !is_inside(range.mr, range.address, range.length))
			return -EACCES;
	}
	*out = piece(range.mr, range.address, range.length);
	return 0;
}

static void owner_release(struct client *c, struct owner *owner)
{
	struct owner **p;

	if (--owner->regions > 0)
		return;
	for (p = &c->owners; *p != owner; p = &(*p)->next)
		continue;
	*p = owner->next;
	quota_give(c->quota, QUOTA_FILES, 1);
	owner_destroy(owner);
}

void mr_destroy(struct mr *mr)
{
	key_remove(mr->o.client, mr->key);
	object_drop(&mr->pd->o);
	owner_release(mr->o.client, mr->owner);
	free(mr);
}

/*
 * The process that sent the command owns the memory: after a fork that is not
 * the one that opened the device.
 */
static int find_owner(struct client *c, pid_t pid, uint64_t probe_at,
		      struct owner **out)
{
	char byte;
	int rc;

	/* An address space that ended does not stand for its successor. */
	for (*out = c->owners; *out; *out = (*out)->next)
		if ((*out)->pid == pid &&
		    memory_read(*out, probe_at, &byte, 1) == 0)
			return 0;
	rc = quota_take(c->quota, QUOTA_FILES, 1);
	if (rc < 0)
		return rc;
	rc = owner_create(out, pid, c->uid);
	if (rc < 0) {
		quota_give(c->quota, QUOTA_FILES, 1);
		return rc;
	}
	(*out)->next = c->owners;
	c->owners = *out;
	return 0;
}

static int check(const struct ib_uverbs_reg_mr *r)
{
	uint32_t known = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE |
			 ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC |
			 ACCESS_MW_BIND | ACCESS_ZERO_BASED | ACCESS_OPTIONAL;

	if (r->access_flags & ~known)
		return -EOPNOTSUPP;
	if ((r->access_flags & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) &&
	    !(r->access_flags & ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (!r->length || r->start + r->length < r->start ||
	    r->hca_va + r->length < r->hca_va ||
	    (r->start & 4095) != (r->hca_va & 4095))
		return -EINVAL;
	return 0;
}

/* Registering memory that is not there fails now, as it does in the kernel. */
static int probe(struct owner *o, uint64_t start, uint64_t length)
{
	char byte;

	if (memory_read(o, start, &byte, 1) < 0 ||
	    memory_read(o, start + length - 1, &byte, 1) < 0)
		return -EFAULT;
	return 0;
}

int uverbs_reg_mr(struct command *c)
{
	struct ib_uverbs_reg_mr r;
	struct ib_uverbs_reg_mr_resp answer = {0};
	struct owner *owner = NULL;
	struct pd *pd;
	struct mr *mr;
	uint32_t key;
	int rc;

	memcpy(&r, c->in, sizeof(r));
	pd = object_find(c->client, r.pd_handle, OBJECT_PD);
	rc = pd ? check(&r) : -EINVAL;
	if (rc == 0)
		rc = find_owner(c->client, c->pid, r.start, &owner);
	if (rc < 0)
		return rc;
	owner->regions++;
	mr = calloc(1, sizeof(*mr));
	rc = mr ? probe(owner, r.start, r.length) : -ENOMEM;
	if (rc == 0)
		rc = key_add(c->client, &mr->o, &key);
	if (rc < 0)
		goto fail;
	rc = object_add(c->client, &mr->o, OBJECT_MR);
	if (rc < 0) {
		key_remove(c->client, key);
		goto fail;
	}
	mr->key = key;
	mr->pd = pd;
	mr->owner = owner;
	mr->access = r.access_flags;
	mr->start = r.start;
	mr->length = r.length;
	mr->iova = r.hca_va;
	object_hold(&pd->o);
	answer.mr_handle = mr->o.handle;
	answer.lkey = answer.rkey = mr->key;
	return command_answer(c, &answer, sizeof(answer), NULL, 0);
fail:
	free(mr);
	owner_release(c->client, owner);
	return rc;
}

int uverbs_dereg_mr(struct command *c)
{
	struct ib_uverbs_dereg_mr r;
	struct mr *mr;

	memcpy(&r, c->in, sizeof(r));
	mr = object_find(c->client, r.mr_handle, OBJECT_MR);
	/* Also with a window bound to it, as in the kernel. */
	if (!mr || mr->windows)
		return -EINVAL;
	object_destroy(&mr->o);
	return 0;
}
