/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * duel_flow: moves in which calls that block carry more than buffers hold, one
 * way or both ways at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "duel.h"

static struct flow {
	pthread_t thread;
	int fd;
	int file, pipes[2]; /* their numbers follow from the game, not from
			     * when the thread runs */
	unsigned how;
	size_t size, piece, done;
	int error;
	unsigned char *bytes;
} flows[SIDES];

static ssize_t send_by(struct flow *f, size_t n)
{
	unsigned char *at = f->bytes + f->done;
	struct iovec parts[2] = {{at, n / 3}, {at + n / 3, n - n / 3}};
	struct mmsghdr m[2] = {{{.msg_iov = parts, .msg_iovlen = 1}, 0},
			       {{.msg_iov = parts + 1, .msg_iovlen = 1}, 0}};
	int k;

	switch (f->how) {
	case 0:
		return send(f->fd, at, n, MSG_NOSIGNAL);
	case 1:
		return writev(f->fd, parts, 2);
	case 2:
		return sendmsg(f->fd, &m[0].msg_hdr, MSG_NOSIGNAL);
	default:
		k = sendmmsg(f->fd, m, 2, MSG_NOSIGNAL);
		return k < 0    ? -1
		       : k == 1 ? (ssize_t)m[0].msg_len
				: (ssize_t)m[0].msg_len + (ssize_t)m[1].msg_len;
	}
}

static void files_make(struct flow *f)
{
	f->file = memfd_create("flow", 0);
	if (write(f->file, f->bytes, f->size) != (ssize_t)f->size ||
	    pipe(f->pipes))
		f->error = -1;
}

static void files_close(const struct flow *f)
{
	close(f->file);
	close(f->pipes[0]);
	close(f->pipes[1]);
}

/* Sends from a file, or from a file through a pipe. */
static ssize_t send_file(struct flow *f)
{
	ssize_t n = 0, m = 0;
	off_t at = 0;

	while (!f->error && f->done < f->size) {
		if (f->how == 4) {
			n = sendfile(f->fd, f->file, &at, f->size - f->done);
		} else {
			m = m ? m
			      : splice(f->file, &at, f->pipes[1], NULL,
				       f->piece, 0);
			n = splice(f->pipes[0], NULL, f->fd, NULL, (size_t)m,
				   0);
			m -= n > 0 ? n : 0;
		}
		if (n <= 0)
			break;
		f->done += (size_t)n;
	}
	if (n < 0)
		f->error = errno;
	return n;
}

static void *flow_main(void *of)
{
	struct flow *f = of;

	if (f->how > 3) {
		send_file(f);
		return NULL;
	}
	while (f->done < f->size) {
		size_t n =
		    f->size - f->done < f->piece ? f->size - f->done : f->piece;
		ssize_t sent = send_by(f, n);

		if (sent < 0) {
			f->error = errno;
			break;
		}
		f->done += (size_t)sent;
	}
	return NULL;
}

/* A connection between the slots, with nothing under way or shut. */
static bool can_flow(const struct game *g, int slot)
{
	const struct table *t = g->table;
	int fd = in(g, slot), peer = t->slots[!g->side][slot];
	unsigned c = connection_of(g, fd);
	struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

	return c && !t->odd[c] && peer >= 0 && peer < FD_MAX &&
	       t->connection[!g->side][peer] == c &&
	       t->end[!g->side][peer] != t->end[g->side][fd] &&
	       !t->flight[c][0] && !t->flight[c][1] && poll(&p, 1, 0) == 1 &&
	       p.revents == POLLOUT;
}

/* Its calls wait, for as long as it takes. */
static void calm(int fd)
{
	struct timeval never = {0, 0};
	int low = 1;

	fcntl(fd, F_SETFL, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof(never));
	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
}

static void flow_begin(struct game *g, struct random *r, int slot)
{
	static const size_t sizes[] = {65536,  131073,  262144,  262145,
				       300000, 1048575, 1048577, 1400000};
	struct flow *f = &flows[g->side];

	*f = (struct flow){.fd = in(g, slot), .size = PICK(r, sizes)};
	f->how = pick(r, 6);
	f->piece = chance(r, 40) ? f->size : 1 + pick(r, 150000);
	f->bytes = malloc(f->size);
	pattern(g, f->bytes, f->size);
	say(g, "flow %d how=%u size=%zu piece=%zu", slot, f->how, f->size,
	    f->piece);
	if (f->how > 3)
		files_make(f);
	pthread_create(&f->thread, NULL, flow_main, f);
}

static ssize_t receive_by(struct game *g, unsigned how, int fd, size_t piece,
			  size_t left)
{
	static int pipes[2] = {-1, -1};
	size_t size = piece < left ? piece : left;
	struct iovec parts[3] = {{g->bytes, size / 4},
				 {g->bytes + size / 4, 0},
				 {g->bytes + size / 4, size - size / 4}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 3};
	ssize_t n;

	switch (how) {
	case 0:
		return recv(fd, g->bytes, size, MSG_WAITALL);
	case 1:
		return read(fd, g->bytes, size);
	case 2:
		return readv(fd, parts, 3);
	case 3:
		return recvmsg(fd, &m, MSG_WAITALL);
	case 4:
		recv(fd, g->bytes, size, MSG_PEEK);
		return recv(fd, g->bytes, size, 0);
	default:
		if (pipes[0] < 0 && pipe(pipes))
			return -1;
		n = splice(fd, NULL, pipes[1], NULL,
			   size < 65536 ? size : 65536, SPLICE_F_MOVE);
		return n <= 0 ? n : read(pipes[0], g->bytes, (size_t)n);
	}
}

static void flow_read(struct game *g, struct random *r, int slot, size_t size)
{
	int fd = in(g, slot);
	size_t done = 0, piece = 1 + pick(r, 200000);
	unsigned how = pick(r, 6);
	uint32_t s = 0;
	ssize_t n = 0;

	if (chance(r, 30))
		usleep(pick(r, 20000));
	while (done < size) {
		n = receive_by(g, how, fd, piece, size - done);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			s = (s ^ g->bytes[i]) * 16777619u;
		done += (size_t)n;
	}
	say(g, " flow %d read how=%u piece=%zu %zu %08x", slot, how, piece,
	    done, s);
	say_result(g, n < 0 ? -1 : 0);
}

static void flow_end(struct game *g, int slot)
{
	struct flow *f = &flows[g->side];

	pthread_join(f->thread, NULL);
	if (f->how > 3)
		files_close(f);
	say(g, " flow %d sent %zu of %zu, %d", slot, f->done, f->size,
	    f->error);
	free(f->bytes);
	if (f->done != f->size || f->error)
		g->table->odd[connection_of(g, f->fd)] = true;
}

/*
 * One side looks; the other one begins; the first may begin as well, and reads;
 * the other one reads what comes back. Each waits for its thread. The game's
 * own table says what was begun, and how much that is.
 */
void make_flow(struct game *g, struct random *r)
{
	int slot = (int)pick(r, g->crowd);
	bool both = chance(r, 50) && g->mine >= 0;
	uint32_t *size = g->table->flight[0];

	if (g->phase == 0) {
		size[0] = can_flow(g, slot);
		size[1] = 0;
		if (size[0])
			calm(in(g, slot));
	} else if (g->phase == 1 && size[0]) {
		size[0] = 0;
		if (!can_flow(g, slot))
			return;
		calm(in(g, slot));
		flow_begin(g, r, slot);
		size[0] = (uint32_t)flows[g->side].size;
	} else if (g->phase == 2 && size[0]) {
		if (both) {
			flow_begin(g, r, slot);
			size[1] = (uint32_t)flows[g->side].size;
		}
		flow_read(g, r, slot, size[0]);
	} else if (g->phase == 3 && size[0]) {
		if (size[1])
			flow_read(g, r, slot, size[1]);
		flow_end(g, slot);
	} else if (g->phase == 4) {
		if (size[1])
			flow_end(g, slot);
		size[0] = size[1] = 0;
	}
}

const struct kind flow_kinds[] = {{"flow", 5, 8, make_flow}, {0}};
