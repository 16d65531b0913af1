/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * recall: a writer that goes back to TCP takes with it what its reader has not
 * read. All of the stream is in one place then, and any process that gets the
 * reader's descriptor, beside it or after it, finds it there.
 *
 * The reader is not asked, as it may make no call for long. The writer says
 * that it recalls, has all processors pass a fence (barrier.h), and takes the
 * reader's cursor, which is final from then on. A reader looks for the word
 * when it has stored its cursor: so either the writer saw that cursor, or the
 * reader sees the word. The call of one that was too late loses what it took
 * behind the final cursor, which comes over TCP (stream_cut).
 *
 * The word `rest` of the ring's consumer says which end has the unread bytes; a
 * reader that keeps them for good is shut both ways.
 *
 * Locking: the writer's stream lock is held; the reader's is not needed.
 *
 * What TCP would not take all at once stays in the ring.
 */
#ifndef SMC_R_RECALL_H
#define SMC_R_RECALL_H

#include <stdbool.h>

#include "smc_r/connection/connection.h"

/* The writer calls it. True: nothing unread is left in the ring. False: it is
 * as it was; TCP would not take it at once, or there is no fence for it. */
bool recall_unread(struct connection *c, int fd);

/* The reader calls it when it found stream_is_recalled(). True: all of it is on
 * TCP. False: not yet; or, if stream_is_recalled() is false then, the writer
 * died over it, and all is in the ring. Waits for the writer to be done, once.
 */
bool recall_is_done(struct connection *c, int fd);

/* The reader calls it when it is about to shut its socket both ways: what comes
 * over TCP then is answered by a reset. So nothing unread is recalled from here
 * on, and what was is there when this returns. */
void recall_forbid(struct connection *c, int fd);

#endif
