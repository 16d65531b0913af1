/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * handshake: from a TCP connection to SMC, or to plain TCP with a reason.
 *
 * The offer goes with the SYN (offer.h) or through the registry. Then the CLC
 * messages are exchanged in the program's calls: nothing here has a thread of
 * its own. connect() returns when TCP is connected. A write waits for the peer,
 * process.handshake_ms at most, and then the connection stays on TCP. A program
 * that must not wait is told that it can write when the peer has answered, or
 * after 5 ms; sooner when the time of its own wait is over (half of it in an
 * epoll instance), or where waits were in vain (port_history.h). The clock is
 * judged in one place: handshake_clock.h.
 *
 * Locking: takes the engine lock, and the connection's rx lock inside it.
 *
 * Writes: the first one waits because bytes that we kept until later would die
 * with their process. It waits for 200 ms at most (SMC_R_HANDSHAKE), for half
 * of that if the socket must not block, for 1 ms if the acceptor is the same
 * process. A poll() or select() that does not wait is told at once that it can
 * write.
 *
 * Crowds: when more than eight clients of a process begin beside each other,
 * polls hide them as long as one write may wait (100 ms). They stay hidden, and
 * blocking writes wait on, for a second at most, while one of them is answered
 * at least that often. A loop that wrote to one of them would keep the server
 * waiting for what the loop has to say to another.
 *
 * Itself: a process that accepts from itself takes both ends through the
 * handshake at accept(). If it has one thread, a write before that waits in
 * vain. So such a client hides that it is writable while there is anything else
 * to report; if it is the only one that begins, the wait that reports it at the
 * listener reports it writable too, behind the listener, as on TCP.
 */
#ifndef SMC_R_HANDSHAKE_H
#define SMC_R_HANDSHAKE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#include "smc_r/connection/connection.h"
#include "smc_r/protocol/handshake_clock.h"

#define CROSSING_MS 20  /* for a message that is on its way */
#define QUIET_MS    800 /* deferred.h: after that it is too late to propose */

/* It says what a data call does next. */
enum way {
	WAY_RING,   /* attached: use the ring */
	WAY_KERNEL, /* call the kernel */
	WAY_AGAIN,  /* undecided; EAGAIN */
	WAY_END,    /* undecided, but the program reads no more: end of file */
	WAY_ERROR,  /* errno is set */
};

/* It says what can become of a connection. */
enum prospect {
	PROSPECT_NOT_OURS,
	PROSPECT_OURS,
	PROSPECT_NOBODY,  /* nobody there has the engine: nothing is offered */
	PROSPECT_REFUSED, /* the place offers no SMC, as it said just before */
};

/* They enclose connect() on a socket without an entry. */
enum prospect handshake_before_connect(int fd, const struct sockaddr *a,
				       socklen_t n);
void handshake_after_connect(int fd, int result, int error);
/* Comes after connect() where there was nobody. */
void handshake_after_passthrough(int fd, const struct sockaddr *a, socklen_t n,
				 int result, int error);
/* Comes after connect() to a place that refuses. Such connections come in
 * hundreds a second: it is counted, but not listed, and no call is made. */
void handshake_after_refusal(int fd, const struct sockaddr *a, socklen_t n,
			     int result, int error);

/* Comes after accept(): takes up the new connection when it matches. True: so
 * many clients of its listener are silent (unheard.h) that it should pause. */
bool handshake_accepted(struct listener *l, int fd,
			const struct sockaddr_storage *peer, bool nonblock);
/* Comes after accept(), too, and asks nobody. True: the BPF program has told
 * before that the place is left to TCP; so the new connection is the kernel's,
 * and was counted. */
bool handshake_accepted_left(const struct listener *l);

/* Makes progress without waiting; returns the phase that is reached. */
uint32_t handshake_step(struct connection *c, int fd);
/* An error that the kernel had for this socket: what the program is told. */
int handshake_error_of(struct connection *c, int fd, int error);
/* Engine lock held. */
uint32_t handshake_step_locked(struct connection *c, int fd);
/*
 * Does handshake_step() for a caller that only looks, and looks again when the
 * bell rings: a knock stays out for as long as it is waited for. asks_output:
 * the program asks whether it can write, so that a client that was quiet begins
 * now; turn says what it is told at that time, and on HANDSHAKE_GIVE_UP the
 * caller aborts.
 */
struct handshake_view {
	uint32_t phase;
	enum handshake_turn turn;
};
struct handshake_view handshake_look(struct connection *c, int fd,
				     bool asks_output, uint64_t now);
/* Does the knock stay out? No lock needed. */
bool handshake_awaits_knock(const struct connection *c, uint64_t now);

/* Is it a client that is quiet (deferred.h)? That begins now, or never. */
bool handshake_is_deferred(const struct connection *c);
void handshake_speak(struct connection *c, int fd);
/* A server calls it when it accepts: has the client said nothing in its time?
 * Then this is TCP, but for a Proposal that is on its way. */
bool handshake_is_unheard(struct connection *c, int fd);

/* Progress for a call that reads or writes, waiting as the socket does. Where
 * it sleeps it is noted in `call`, if there is one; the number may mean
 * something else when this returns (connection_fd). */
enum way handshake_for_read(struct connection *c, int fd, bool wait,
			    struct sleeper *call);
enum way handshake_for_write(struct connection *c, int fd, bool wait,
			     struct sleeper *call);

/* Tells what a call would do now. */
enum way handshake_way(struct connection *c, bool write);
/* Waits until bytes come or the time is over (sys_now_ns). False: it was. */
bool handshake_wait_until(int fd, uint64_t until_ns);
/* Steps until then as bytes come, for as long as something is due. */
void handshake_step_until(struct connection *c, int fd, uint64_t until_ns,
			  bool (*is_due)(struct connection *),
			  uint32_t (*step)(struct connection *, int));

/* Ends it: this connection stays on TCP as soon as that can be. */
void handshake_abort(struct connection *c, int fd, uint32_t reason);

/* Comes before a close and ends it like handshake_abort(); but a server that
 * sent its Accept leaves over SMC, without the client's word. True: it did so.
 */
bool handshake_leave(struct connection *c, int fd);
/* Comes after that, when the peer can know: a message may be on its way that
 * must not meet a closed socket. */
void handshake_left(struct connection *c, int fd);
/* Comes before the program resets it: that is none of the resets that an unread
 * message causes, which the peer forgives. */
void handshake_before_reset(struct connection *c, int fd);

/* Comes after an end: waits, not for ever, for what the peer still owes, as a
 * program that follows us could not read it. */
void handshake_for_successor(struct connection *c, int fd);
/* TCP at once, if the client has not acted on our Accept. */
bool handshake_withdraw(struct connection *c, int fd);
/* TCP at once, whatever is owed. */
void handshake_give_up(struct connection *c, int fd);

/* Tells when what a look says changes by itself, by the clock of sys_now_ns;
 * over, if it has. */
uint64_t handshake_changes_ns(const struct connection *c, uint64_t now);
/* The change has come, and no look has told the program yet that it can write.
 */
bool handshake_owes_output(struct connection *c, uint64_t now);
/* A wait for readiness ends by its time-out: one for output that only we hid
 * would have ended on TCP at once. True: it is told from now on. */
bool handshake_tells_output(struct connection *c);
/*
 * A connection to a listener of this process, which has no other thread: it is
 * accepted when the program comes to it, and a write before that ends on TCP.
 * So it hides while there is anything else to tell.
 *
 * True: it is told from now on. first: the listener's event is told by the same
 * wait, and before it, as on TCP, whatever threads there are; not where several
 * begin, as there are programs that accept one at a time. alone: nothing else
 * is ready.
 */
bool handshake_is_own(const struct connection *c);
bool handshake_tells_first(struct connection *c);
bool handshake_tells_alone(struct connection *c);

/* A server whose client has said nothing yet, or nothing more: only TCP moves
 * it, and the clock only where it hides from its program that it can write. */
bool handshake_is_silent(struct connection *c, bool asks_output);

/* Resolves what could not be shared with a child. */
void handshake_before_fork(void);

#endif
