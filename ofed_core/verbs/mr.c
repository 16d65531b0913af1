/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * mr: memory regions: registering, and checking what keys give access to.
 */
#include "ofed_core/verbs/mr.h"

#include <errno.h>
#include <stdlib.h>

#include "ofed_core/verbs/client.h"
#include "ofed_core/verbs/key.h"
#include "ofed_core/verbs/object.h"

struct mr *mr_by_key(uint32_t key)
{
	struct object *o = key_find(key);
	struct mr *mr = (struct mr *)o;

	return o && o->type == OBJECT_MR && mr->key == key ? mr : NULL;
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
		    !mr_has(mr, sge[i].address, sge[i].length))
			return -EINVAL;
		out[i] = mr_span(mr, sge[i].address, sge[i].length);
	}
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

static void mr_destroy(struct object *o)
{
	struct mr *mr = (struct mr *)o;

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

int mr_create(struct pd *pd, pid_t pid, const struct ib_uverbs_reg_mr *r,
	      struct mr **out)
{
	struct client *c = pd->o.client;
	struct owner *owner = NULL;
	struct mr *mr;
	uint32_t key;
	int rc = check(r);

	if (rc == 0)
		rc = find_owner(c, pid, r->start, &owner);
	if (rc < 0)
		return rc;
	owner->regions++;
	mr = calloc(1, sizeof(*mr));
	rc = mr ? probe(owner, r->start, r->length) : -ENOMEM;
	if (rc == 0)
		rc = key_add(c, &mr->o, &key);
	if (rc < 0)
		goto fail;
	rc = object_add(c, &mr->o, OBJECT_MR, mr_destroy);
	if (rc < 0) {
		key_remove(c, key);
		goto fail;
	}
	mr->key = key;
	mr->pd = pd;
	mr->owner = owner;
	mr->access = r->access_flags;
	mr->start = r->start;
	mr->length = r->length;
	mr->iova = r->hca_va;
	object_hold(&pd->o);
	*out = mr;
	return 0;
fail:
	free(mr);
	owner_release(c, owner);
	return rc;
}
