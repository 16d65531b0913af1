/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_aio: requests of io_submit(2), whichever way they are submitted.
 */
#ifndef SMC_R_PRELOAD_AIO_H
#define SMC_R_PRELOAD_AIO_H

struct iocb;

/* The kernel is about to get these: their connections go to TCP. */
void aio_submitted(long n, struct iocb *const *list);

#endif
