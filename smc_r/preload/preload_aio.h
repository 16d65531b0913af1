/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * preload_aio: requests of io_submit(2), whichever way they are submitted, and
 * sockets that BPF programs will read.
 */
#ifndef SMC_R_PRELOAD_AIO_H
#define SMC_R_PRELOAD_AIO_H

struct iocb;
union bpf_attr;

/* The kernel is about to get these: their connections go to TCP. */
void aio_submitted(long n, struct iocb *const *list);
/* BPF_MAP_UPDATE_ELEM is about to come: a connection that it puts into a
 * sockmap goes to TCP. */
void bpf_updates_map(const union bpf_attr *a, unsigned bytes);

#endif
