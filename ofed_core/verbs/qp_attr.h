/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * qp_attr: the attributes of a queue pair that a program sets.
 */
#ifndef OFED_CORE_QP_ATTR_H
#define OFED_CORE_QP_ATTR_H

#include "ofed_core/verbs/qp.h"

/* Attribute masks of MODIFY_QP, as programs give them. */
enum qp_attr_mask {
	ATTR_STATE = 1 << 0,
	ATTR_CUR_STATE = 1 << 1,
	ATTR_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	ATTR_ACCESS_FLAGS = 1 << 3,
	ATTR_PKEY_INDEX = 1 << 4,
	ATTR_PORT = 1 << 5,
	ATTR_QKEY = 1 << 6,
	ATTR_AV = 1 << 7,
	ATTR_PATH_MTU = 1 << 8,
	ATTR_TIMEOUT = 1 << 9,
	ATTR_RETRY_CNT = 1 << 10,
	ATTR_RNR_RETRY = 1 << 11,
	ATTR_RQ_PSN = 1 << 12,
	ATTR_MAX_QP_RD_ATOMIC = 1 << 13,
	ATTR_ALT_PATH = 1 << 14,
	ATTR_MIN_RNR_TIMER = 1 << 15,
	ATTR_SQ_PSN = 1 << 16,
	ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	ATTR_PATH_MIG_STATE = 1 << 18,
	ATTR_CAP = 1 << 19,
	ATTR_DEST_QPN = 1 << 20,
};

/* 0 when the step is allowed with exactly these attributes, else -EINVAL. */
int qp_attr_check(enum qp_type type, enum qp_state from, enum qp_state to,
		  uint32_t mask);

#endif
