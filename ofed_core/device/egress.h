/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * egress: whether rules of this network namespace look at packets on their
 * way out. Where there are none, packets may go to the interface directly.
 *
 * Locking: none.
 *
 * A packet that is handed to the interface with headers of ours costs a quarter
 * less than by the UDP socket. Once a second one packet takes the long way, and
 * the question is asked again.
 */
#ifndef OFED_CORE_EGRESS_H
#define OFED_CORE_EGRESS_H

#include <stdbool.h>

/*
 * True when netfilter has tables or IPsec has policies, and when it cannot be
 * known. Asks the kernel: tens of microseconds.
 */
bool egress_has_rules(void);

#endif
