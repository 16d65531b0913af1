/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_attr: which attributes each step of a queue pair needs and allows.
 *
 * InfiniBand Architecture Specification, table "QP state transition
 * properties" (11.2.4.2); the kernel enforces the same.
 */
#include "ofed_core/verbs/qp_attr.h"

#include <errno.h>
#include <stddef.h>

struct step {
	uint8_t type;
	uint8_t from;
	uint8_t to;
	uint32_t needed;
	uint32_t allowed;
};

#define INIT_CONNECTED (ATTR_PKEY_INDEX | ATTR_PORT | ATTR_ACCESS_FLAGS)
#define INIT_DATAGRAM  (ATTR_PKEY_INDEX | ATTR_PORT | ATTR_QKEY)
#define RTR_RC                                                                 \
	(ATTR_AV | ATTR_PATH_MTU | ATTR_DEST_QPN | ATTR_RQ_PSN |               \
	 ATTR_MAX_DEST_RD_ATOMIC | ATTR_MIN_RNR_TIMER)
#define RTR_UC    (ATTR_AV | ATTR_PATH_MTU | ATTR_DEST_QPN | ATTR_RQ_PSN)
#define RTR_EXTRA (ATTR_ALT_PATH | ATTR_ACCESS_FLAGS | ATTR_PKEY_INDEX)
#define RTS_RC                                                                 \
	(ATTR_TIMEOUT | ATTR_RETRY_CNT | ATTR_RNR_RETRY | ATTR_SQ_PSN |        \
	 ATTR_MAX_QP_RD_ATOMIC)
#define RUN_UC                                                                 \
	(ATTR_CUR_STATE | ATTR_ACCESS_FLAGS | ATTR_ALT_PATH |                  \
	 ATTR_PATH_MIG_STATE)
#define RUN_RC (RUN_UC | ATTR_MIN_RNR_TIMER)
#define RUN_UD (ATTR_CUR_STATE | ATTR_QKEY)

static const struct step steps[] = {
    {QP_RC, QP_RESET, QP_INIT, INIT_CONNECTED, 0},
    {QP_UC, QP_RESET, QP_INIT, INIT_CONNECTED, 0},
    {QP_UD, QP_RESET, QP_INIT, INIT_DATAGRAM, 0},
    {QP_RC, QP_INIT, QP_INIT, 0, INIT_CONNECTED},
    {QP_UC, QP_INIT, QP_INIT, 0, INIT_CONNECTED},
    {QP_UD, QP_INIT, QP_INIT, 0, INIT_DATAGRAM},
    {QP_RC, QP_INIT, QP_RTR, RTR_RC, RTR_EXTRA},
    {QP_UC, QP_INIT, QP_RTR, RTR_UC, RTR_EXTRA},
    {QP_UD, QP_INIT, QP_RTR, 0, ATTR_PKEY_INDEX | ATTR_QKEY},
    {QP_RC, QP_RTR, QP_RTS, RTS_RC, RUN_RC},
    {QP_UC, QP_RTR, QP_RTS, ATTR_SQ_PSN, RUN_UC},
    {QP_UD, QP_RTR, QP_RTS, ATTR_SQ_PSN, RUN_UD},
    {QP_RC, QP_RTS, QP_RTS, 0, RUN_RC},
    {QP_UC, QP_RTS, QP_RTS, 0, RUN_UC},
    {QP_UD, QP_RTS, QP_RTS, 0, RUN_UD},
    {QP_RC, QP_RTS, QP_SQD, 0, ATTR_EN_SQD_ASYNC_NOTIFY},
    {QP_UC, QP_RTS, QP_SQD, 0, ATTR_EN_SQD_ASYNC_NOTIFY},
    {QP_UD, QP_RTS, QP_SQD, 0, ATTR_EN_SQD_ASYNC_NOTIFY},
    {QP_RC, QP_SQD, QP_RTS, 0, RUN_RC},
    {QP_UC, QP_SQD, QP_RTS, 0, RUN_UC},
    {QP_UD, QP_SQD, QP_RTS, 0, RUN_UD},
    {QP_RC, QP_SQD, QP_SQD, 0,
     ATTR_AV | ATTR_TIMEOUT | ATTR_RETRY_CNT | ATTR_RNR_RETRY |
	 ATTR_MAX_QP_RD_ATOMIC | ATTR_MAX_DEST_RD_ATOMIC | ATTR_PKEY_INDEX |
	 RUN_RC},
    {QP_UC, QP_SQD, QP_SQD, 0, ATTR_AV | ATTR_PKEY_INDEX | RUN_UC},
    {QP_UD, QP_SQD, QP_SQD, 0, ATTR_PKEY_INDEX | ATTR_QKEY},
    {QP_UC, QP_SQE, QP_RTS, 0, ATTR_CUR_STATE | ATTR_ACCESS_FLAGS},
    {QP_UD, QP_SQE, QP_RTS, 0, RUN_UD},
};

int qp_attr_check(enum qp_type type, enum qp_state from, enum qp_state to,
		  uint32_t mask)
{
	mask &= ~(uint32_t)ATTR_STATE;
	if (to == QP_RESET || to == QP_ERR)
		return mask & ~(uint32_t)ATTR_CUR_STATE ? -EINVAL : 0;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *s = &steps[i];

		if (s->type != type || s->from != from || s->to != to)
			continue;
		if ((mask & s->needed) != s->needed ||
		    (mask & ~(s->needed | s->allowed)))
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}
