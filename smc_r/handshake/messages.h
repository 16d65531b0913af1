/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * messages: CLC messages of one connection, read from its TCP stream, given to
 * the machine (clc.h), and what the machine says carried out.
 *
 * No byte is taken from the stream that is not part of a message.
 *
 * A thread that sleeps in the kernel until a message comes is counted in
 * slot->rx.sleepers meanwhile, and does not sleep if slot->messages has moved
 * since it last looked. A thread that takes a message moves that, and leaves
 * the message where it is until no thread is counted: so all that sleep wake
 * up.
 *
 * Locking: engine lock and the connection's rx lock held by the caller.
 * now: as of sys_now_ns.
 *
 * Declines: a server that sent its Accept may write into the ring at once; if a
 * Decline comes, those bytes go to TCP before anything else. A client that
 * gives the connection to somebody without the engine declines, and waits until
 * no message can come any more. The server answers such a Decline for at least
 * as long as that wait lasts.
 *
 * Withdrawal: a client may make no call for a long time while the Accept lies
 * unread in its queue; its Confirm would then reach whoever has the server's
 * descriptor by then. So one compare-and-swap in the element decides (`accept`
 * in rmb.h): the client takes the Accept, and a Confirm follows; or the server
 * withdraws it, and neither end says another word.
 *
 * Death: a message that a dead peer left unread makes its kernel reset the
 * connection. That is taken back, as the programs know of no message; but not
 * where nobody had accepted, and the end of the listener is the reason. The BPF
 * program can tell (OFFER_MET in option.h).
 */
#ifndef SMC_R_MESSAGES_H
#define SMC_R_MESSAGES_H

#include "smc_r/connection/connection.h"

/* Reads what is there, without waiting. Leaves in c->opening.unread how many
 * bytes were seen and left: the beginning of a message. */
void messages_read(struct connection *c, int fd, uint64_t now);

/* m: the message that led to the action, NULL when there was none; it was read
 * by messages_read, or messages_look_behind was called. */
void messages_carry_out(struct connection *c, int fd, struct clc_action a,
			const struct clc_message *m, uint64_t now);

/* A message that did not come by the stream: has its sender ended since? */
void messages_look_behind(struct connection *c, int fd,
			  const struct clc_message *m);

/* Is the Accept out, and the client's word to it not here? What we wrote since
 * is in the ring, where a client finds it that takes the Accept late. */
bool messages_await_confirm(struct connection *c);
/* A server left without it, after saying so: is one on its way all the same? */
bool messages_confirm_is_due(struct connection *c);
/*
 * Takes the Accept back, which the client may not have read for long, if it has
 * not acted on it: then the connection is TCP's, and nothing of ours follows on
 * it. Otherwise its Confirm is on its way.
 */
bool messages_withdraw(struct connection *c, int fd, uint64_t now);
/* Takes what lies in the queue of TCP: all of it is ours. */
void messages_drop(int fd);

/* The socket had this error, and has it no more. True: the programs, which know
 * of no message, would have had none, and it is the end that was read. */
bool messages_forgive(struct connection *c, int fd, int error, uint64_t now);

/* The stream is TCP's from here on. Its kernel took our messages for a dialogue
 * and would delay its ACKs, which a program's first bytes would wait for, as
 * they did not without us. No lock is needed. */
void messages_forget(int fd);

/* Ends the connection: what comes on TCP is not to be read by the program. */
void messages_fail(struct connection *c, int fd, uint32_t reason);

#endif
