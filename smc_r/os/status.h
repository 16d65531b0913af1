/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * status: what a process with the engine tells the rest of the host.
 *
 * Each process that meets a matching connection has one segment, the file
 * status/<pid>.<start time> in the user's directory (rundir.h), mapped shared
 * and written by that process and by its forked children. Commands copy it. A
 * segment holds counters, and one slot per connection; the slot is at the same
 * time the private state that all processes of one end share: cursors and
 * locks that the peer cannot reach.
 *
 * What ended processes counted is kept beside it, in the file totals.
 *
 * Ownership: the process that made a segment removes it at its end; segments
 *            of killed processes are swept by the next process of the same
 *            user, or by a command run by root.
 * Locking:   counters are only added to, by relaxed atomics. rx and tx of a
 *            slot belong to the holder of rx.lock and tx.lock. `state` is
 *            stored last (release) when a slot comes into use.
 * Hostile:   readers treat a file as bytes of a stranger: check size, magic,
 *            version and slot_count before use, and end every string.
 */
#ifndef SMC_R_STATUS_H
#define SMC_R_STATUS_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "smc_r/os/relaxed.h"

#define STATUS_MAGIC       0x52434d53u /* "SMCR", little endian */
#define STATUS_VERSION     1u
#define STATUS_PROGRAM_MAX 32
#define STATUS_HOLDERS_MAX                                                     \
	64                    /* bits of a slot's holders word; the last one   \
				 stands for processes without an entry */
#define STATUS_REASONS_MAX 95 /* >= REASON_COUNT of reason.h */
#define STATUS_SLOTS_MAX   65536

/* Every counter only grows. Bytes and requests of connections that still
 * exist are in their slots; they move here when the slot is freed. */
struct status_counters {
	_Atomic uint64_t client_connections; /* matching, opened by us */
	_Atomic uint64_t server_connections; /* matching, accepted by us */
	_Atomic uint64_t smc_connections;    /* of both: carried by SMC */
	_Atomic uint64_t tcp_connections;    /* of both: stayed on TCP */
	_Atomic uint64_t demoted;            /* of smc: went back to TCP */
	_Atomic uint64_t handshake_errors;   /* time-outs, bad messages */
	_Atomic uint64_t first_contacts;     /* link groups made */
	_Atomic uint64_t reuses;             /* connections on a known group */
	_Atomic uint64_t declines_sent;
	_Atomic uint64_t declines_received;
	_Atomic uint64_t bytes_sent;
	_Atomic uint64_t bytes_received;
	_Atomic uint64_t requests_sent;     /* send calls that moved bytes */
	_Atomic uint64_t requests_received; /* receive calls that did */
	_Atomic uint64_t rmbs_made;
	_Atomic uint64_t rmbs_freed;
	_Atomic uint64_t doorbells;   /* bells rung: a peer slept */
	_Atomic uint64_t sleeps;      /* waits that entered the kernel */
	_Atomic uint64_t spin_hits;   /* waits that spinning ended */
	_Atomic uint64_t spin_misses; /* spins in vain */
	_Atomic uint64_t buffer_full; /* sends that met a full RMBE */
	/* Why, of tcp and of demoted; by reason_index. */
	_Atomic uint64_t fallbacks[STATUS_REASONS_MAX];
	/* Accepted without a message, of reuses; an older revision has room for
	 * one reason more here, which it never had. */
	_Atomic uint64_t knocks;
};

/* What reason_index means in a file. A file that says something else is of a
 * revision that numbered the reasons otherwise: nobody knows how, so what it
 * counted by reason counts nowhere. */
#define STATUS_REASON_TABLE 1u

enum status_state {
	STATUS_FREE = 0,
	STATUS_INIT = 2,   /* CLC handshake in progress */
	STATUS_ACTIVE = 1, /* carried by SMC (Linux' numbers kept) */
	STATUS_CLOSING = 7,
	STATUS_LISTEN = 10,
	STATUS_TCP = 64, /* matching, but on TCP: see reason */
};

enum status_role {
	STATUS_CLIENT = 0,
	STATUS_SERVER = 1
};
enum status_link {
	STATUS_LINK_NONE = 0,
	STATUS_LINK_SHM,
	STATUS_LINK_RC
};

/* One direction of one connection, as its own end sees it. */
struct status_stream {
	_Atomic uint32_t lock;     /* tid of the holder, 0 free; futex */
	_Atomic uint32_t waiters;  /* threads asleep on lock */
	_Atomic uint64_t frame;    /* stack frame of the holder */
	_Atomic uint64_t position; /* bytes moved since the start: cursor */
	uint64_t peer_position;    /* last checked cursor of the peer */
	_Atomic uint64_t requests; /* calls that moved bytes */
	_Atomic uint32_t flags;    /* engine's own: connection.h */
	_Atomic uint32_t sleepers; /* threads asleep for this direction */
	_Atomic uint32_t blocked;  /* calls that met a full or empty ring */
	_Atomic uint32_t first;    /* tid of the sleeper that takes rings */
	/* Low half: low bits of the cursor up to which the ring is being filled
	 * (tx), or was seen to be (rx). High half: the shift that holds for the
	 * bytes before it (rmb.h). */
	_Atomic uint64_t window;
} __attribute__((aligned(64)));

struct status_slot {
	_Atomic uint32_t state; /* enum status_state, stored last */
	uint32_t reason;        /* why on TCP (reason.h), 0 on SMC */
	uint32_t peer_reason;   /* the peer's code in its Decline, or 0 */
	uint8_t role;           /* enum status_role */
	uint8_t link;           /* enum status_link */
	uint16_t local_port;    /* host order */
	struct in6_addr local;  /* IPv4 as ::ffff:a.b.c.d */
	struct in6_addr peer;
	uint16_t peer_port;
	_Atomic uint16_t taken;   /* bytes of CLC messages, off TCP */
	int32_t pid;              /* the process that opened or accepted it */
	_Atomic uint64_t holders; /* bit i: header.holders[i] holds it */
	uint64_t cookie;          /* SO_COOKIE; of a server: that of a lease */
	uint64_t started_ms;      /* CLOCK_REALTIME, milliseconds */
	uint32_t rmbe_in;         /* bytes of the RMBE we receive into */
	uint32_t rmbe_out;        /* bytes of the peer's RMBE */
	int32_t peer_pid;         /* SO_PEERCRED of the link group, 0 unknown */
	uint32_t group;           /* link group number within the process */
	_Atomic uint32_t phase;   /* engine's own: connection.h */
	_Atomic uint32_t socket_flags; /* engine's own: connection.h */
	_Atomic uint32_t error;        /* pending, as SO_ERROR gives it */
	_Atomic uint32_t messages;     /* of CLC, taken off the TCP stream */
	uint64_t first; /* engine's own: this connection made the group */
	_Atomic uint64_t frozen; /* rx.position when it was frozen: ends.h */
	struct status_stream rx;
	struct status_stream tx;
	uint8_t handshake[128]; /* engine's own: struct clc */
};

/* A writer stores its negative pid, then start, then the pid: a reader that
 * reads a pid, looks at start and finds the pid changed, read nothing. */
struct status_holder {
	_Atomic int32_t pid;    /* 0: free entry; < 0: -pid is writing it */
	_Atomic uint32_t flags; /* STATUS_HOLDER_*; older ones write 0 */
	_Atomic uint64_t start; /* field 22 of /proc/<pid>/stat */
};

/* It takes nothing along when it executes another program; then it holds
 * nothing any more, and its /proc/<pid>/stat says that it did. */
#define STATUS_HOLDER_EXECS 1u

struct status_header {
	uint32_t magic;
	uint32_t version;
	uint32_t slot_size;          /* sizeof(struct status_slot) */
	_Atomic uint32_t slot_count; /* slots that have memory, grows */
	int32_t pid;
	uint32_t uid; /* as in struct status_totals */
	uint64_t start;
	uint64_t started_ms;
	char program[STATUS_PROGRAM_MAX];
	int32_t reporter;            /* smc_run -v that will report, or 0 */
	_Atomic uint32_t offer_kind; /* 0 none, 1 BPF option, 2 registry */
	_Atomic uint64_t rmb_bytes;  /* RMB memory this process pays for */
	_Atomic uint64_t generation; /* settings last read */
	struct status_holder holders[STATUS_HOLDERS_MAX];
	struct status_counters counters;
	uint32_t reason_table; /* STATUS_REASON_TABLE */
	uint32_t spare;
};

/* Offset of slot 0 in the file; slots follow each other. The process that made
 * the file holds flock(LOCK_SH) on it for as long as it lives; process numbers
 * say nothing in another pid namespace. */
#define STATUS_SLOTS_AT 8192u

/* What a user's ended processes counted, and the RMB memory of the living ones.
 * Mapped shared by all processes of that user.
 * Merging a segment happens under flock(LOCK_EX) of this file; a reader that
 * sums totals and segments holds LOCK_SH meanwhile. rmb_bytes is the sum of
 * that word in all segments of the user; it and they change together, under
 * flock(LOCK_EX) of the directory, and `ledger` says when they may differ. */
#define STATUS_TOTALS "totals"
struct status_totals {
	uint32_t magic;
	uint32_t version;
	uint32_t uid; /* as its maker saw it; a user namespace has others */
	uint32_t reason_table; /* STATUS_REASON_TABLE */
	_Atomic uint64_t rmb_bytes;
	struct status_counters counters;
	_Atomic uint32_t ledger; /* STATUS_LEDGER_* */
	uint32_t spare;
};

#define STATUS_LEDGER_OPEN  1u /* being changed, or its process died */
#define STATUS_LEDGER_STALE 2u /* a segment changed alone: count anew */

/* Files of older revisions end before `ledger`. */
#define STATUS_TOTALS_LEAST offsetof(struct status_totals, ledger)

/* A file that is new, or of another revision, from now on is of this one. */
static inline void status_totals_adopt(struct status_totals *t)
{
	if (t->reason_table == STATUS_REASON_TABLE)
		return;
	for (int i = 0; i < STATUS_REASONS_MAX; i++)
		atomic_store(&t->counters.fallbacks[i], 0);
	t->reason_table = STATUS_REASON_TABLE;
}

/* What a slot holds of the sums while its connection is there. */
static inline void status_add_moved(struct status_counters *to,
				    const struct status_slot *slot)
{
	to->bytes_received += atomic_load(&slot->rx.position);
	to->bytes_sent += atomic_load(&slot->tx.position);
	to->requests_received += atomic_load(&slot->rx.requests);
	to->requests_sent += atomic_load(&slot->tx.requests);
}

/* What it leaves to them when the connection has ended. A server may send into
 * the ring before it has seen the client's Confirm: if it ended then, nobody
 * has counted the connection. */
static inline void status_add_ended(struct status_counters *to,
				    const struct status_slot *slot)
{
	status_add_moved(to, slot);
	if (atomic_load(&slot->state) != STATUS_INIT ||
	    (atomic_load(&slot->rx.position) == 0 &&
	     atomic_load(&slot->tx.position) == 0))
		return;
	to->smc_connections += 1;
	if (slot->role == STATUS_CLIENT)
		to->client_connections += 1;
	else
		to->server_connections += 1;
}

_Static_assert(sizeof(struct status_stream) == 64, "one cache line");
_Static_assert(sizeof(struct status_slot) == 384, "six cache lines");
_Static_assert(sizeof(struct status_header) <= STATUS_SLOTS_AT, "fits");

#endif
