/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * memory: copies between the core and programs.
 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "worker.h"

/* Up to here /proc/PID/mem is the faster way (measured: 0.9 against 1.2 us
 * for a page, 8.8 against 5.0 us for 64 KiB). */
#define SMALL_BYTES  8192
#define BOUNCE_BYTES 262144

int owner_create(struct owner **out, pid_t pid, uid_t uid)
{
	struct owner *o = calloc(1, sizeof(*o));
	char path[32];
	int rc;

	if (!o)
		return -ENOMEM;
	o->pid = pid;
	o->is_trusted = uid == 0 || uid == geteuid();
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	o->mem = open(path, O_RDWR | O_CLOEXEC);
	if (o->mem < 0) {
		rc = errno == EACCES ? -EPERM : -errno;
		free(o);
		return rc;
	}
	*out = o;
	return 0;
}

void owner_destroy(struct owner *o)
{
	close(o->mem);
	free(o);
}

/* The address space that was registered has gone: nothing to read. */
static bool is_gone(const struct owner *o, uint64_t address)
{
	char byte;

	return pread(o->mem, &byte, 1, (off_t)address) != 1;
}

static int copy_by_file(const struct owner *o, uint64_t address, void *buffer,
			size_t bytes, bool is_write)
{
	size_t done = 0;

	while (done < bytes) {
		char *p = (char *)buffer + done;
		off_t at = (off_t)(address + done);
		ssize_t n = is_write ? pwrite(o->mem, p, bytes - done, at)
				     : pread(o->mem, p, bytes - done, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

static int copy(const struct owner *o, uint64_t address, void *buffer,
		size_t bytes, bool is_write)
{
	struct iovec local = {buffer, bytes};
	struct iovec remote = {(void *)(uintptr_t)address, bytes};
	ssize_t n;

	if (!bytes)
		return 0;
	if (!o->is_trusted || bytes <= SMALL_BYTES || is_gone(o, address))
		return copy_by_file(o, address, buffer, bytes, is_write);
	n = is_write ? process_vm_writev(o->pid, &local, 1, &remote, 1, 0)
		     : process_vm_readv(o->pid, &local, 1, &remote, 1, 0);
	if (n == (ssize_t)bytes)
		return 0;
	return copy_by_file(o, address, buffer, bytes, is_write);
}

int memory_read(struct owner *o, uint64_t address, void *out, size_t bytes)
{
	return copy(o, address, out, bytes, false);
}

int memory_write(struct owner *o, uint64_t address, const void *in,
		 size_t bytes)
{
	return copy(o, address, (void *)(uintptr_t)in, bytes, true);
}

static int span_copy(const struct span *s, uint64_t offset, void *buffer,
		     size_t bytes, bool is_write)
{
	void *own = (void *)(uintptr_t)(s->address + offset);

	if (s->owner)
		return copy(s->owner, s->address + offset, buffer, bytes,
			    is_write);
	if (is_write)
		memcpy(own, buffer, bytes);
	else
		memcpy(buffer, own, bytes);
	return 0;
}

static int spans_move(const struct span *s, unsigned count, uint64_t offset,
		      void *buffer, size_t bytes, bool is_write)
{
	char *p = buffer;

	for (unsigned i = 0; i < count && bytes; i++) {
		size_t n = bytes;
		int rc;

		if (offset >= s[i].bytes) {
			offset -= s[i].bytes;
			continue;
		}
		if (n > s[i].bytes - offset)
			n = (size_t)(s[i].bytes - offset);
		rc = span_copy(&s[i], offset, p, n, is_write);
		if (rc < 0)
			return rc;
		offset = 0;
		p += n;
		bytes -= n;
	}
	return bytes ? -EFAULT : 0;
}

int spans_read(const struct span *s, unsigned count, uint64_t offset, void *out,
	       size_t bytes)
{
	return spans_move(s, count, offset, out, bytes, false);
}

int spans_write(const struct span *s, unsigned count, uint64_t offset,
		const void *in, size_t bytes)
{
	return spans_move(s, count, offset, (void *)(uintptr_t)in, bytes, true);
}

int spans_copy(const struct span *to, unsigned to_count, uint64_t to_offset,
	       const struct span *from, unsigned from_count, uint64_t bytes)
{
	char *bounce = worker_buffer(BUFFER_BOUNCE, BOUNCE_BYTES);
	uint64_t done = 0;
	int rc = 0;

	if (!bounce)
		return -ENOMEM;
	while (done < bytes && rc == 0) {
		size_t n =
		    bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;

		rc = spans_read(from, from_count, done, bounce, n);
		if (rc == 0)
			rc = spans_write(to, to_count, to_offset + done, bounce,
					 n);
		done += n;
	}
	return rc;
}
