/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * reason: why a connection is not on SMC, as a number and in words.
 *
 * The numbers are the diagnosis codes of the CLC Decline message (RFC 7609
 * appendix A, with the values that Linux and z/OS use), so that operators
 * find what they know. Codes 0x0Axxxxxx are ours: rules of this host, the
 * handshake as seen from here, and connections that left SMC in mid-stream.
 *
 * A number is never given a second meaning. An index is dense, good for arrays
 * of counters, and never given a second meaning either: such arrays are in
 * files.
 *
 * Locking: none; all is constant. Callable from any context, signals too.
 */
#ifndef SMC_R_REASON_H
#define SMC_R_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum smc_reason {
	REASON_NONE = 0,

	/* Known to Linux and z/OS. */
	REASON_MEMORY = 0x01010000,
	REASON_TIMEOUT_CONFIRM_LINK = 0x02010000,
	REASON_TIMEOUT_ADD_LINK = 0x02020000,
	REASON_CONFIG = 0x03000000,
	REASON_PEER_NO_SMC = 0x03010000,
	REASON_IPSEC = 0x03020000,
	REASON_NO_DEVICE = 0x03030000,
	REASON_NO_SMCD_DEVICE = 0x03030001,
	REASON_NO_SMCR_DEVICE = 0x03030002,
	REASON_NO_ISM2_SUPPORT = 0x03030003,
	REASON_NO_V2_EXTENSION = 0x03030004,
	REASON_NO_SMCD2_EXTENSION = 0x03030005,
	REASON_NO_SEID = 0x03030006,
	REASON_NO_SMCD2_DEVICE = 0x03030007,
	REASON_NO_COMMON_EID = 0x03030008,
	REASON_RELEASE = 0x03030009,
	REASON_MAX_CONNECTIONS = 0x0303000A,
	REASON_MAX_LINKS = 0x0303000B,
	REASON_MODE_UNSUPPORTED = 0x03040000,
	REASON_RMBE_EYECATCHER = 0x03050000,
	REASON_OPTION_UNSUPPORTED = 0x03060000,
	REASON_PREFIX = 0x03070000,
	REASON_VLAN = 0x03080000,
	REASON_ISM_VLAN = 0x03090000,
	REASON_NO_ACTIVE_LINK = 0x030A0000,
	REASON_NO_SERVER_LINK = 0x030B0000,
	REASON_VERSION = 0x030C0000,
	REASON_MAX_DMB = 0x030D0000,
	REASON_NO_ROUTE = 0x030E0000,
	REASON_INDIRECT = 0x030F0000,
	REASON_SYNC = 0x04000000,
	REASON_PEER_DECLINED = 0x05000000,
	REASON_INTERNAL = 0x09990000,
	REASON_RTOKEN = 0x09990001,
	REASON_READY_LINK = 0x09990002,
	REASON_REGISTER = 0x09990003,

	/* Ours: a rule of this host kept the connection on TCP. */
	REASON_UNAVAILABLE = 0x0A010000,
	REASON_DISABLED = 0x0A010001,
	REASON_PORT = 0x0A010002,
	REASON_ADDRESS = 0x0A010003,
	REASON_PROGRAM = 0x0A010004,
	REASON_ENVIRONMENT = 0x0A010005,
	REASON_OTHER_HOST = 0x0A010006,
	REASON_DESCRIPTORS = 0x0A010007,
	REASON_SAME_PROCESS = 0x0A010008,
	REASON_CHILDREN = 0x0A010009,
	REASON_RAW_CALLS = 0x0A01000A,
	REASON_NOT_WORTH_IT = 0x0A01000B,

	/* Ours: the handshake did not come to an agreement. */
	REASON_TIMEOUT = 0x0A020000,
	REASON_MESSAGE = 0x0A020001,
	REASON_RENDEZVOUS = 0x0A020002,
	REASON_FORK = 0x0A020003,
	REASON_CLOSED = 0x0A020004,

	/* Ours: the connection was on SMC and went back to TCP. */
	REASON_DEMOTED_EXEC = 0x0A030000,
	REASON_DEMOTED_PASSING = 0x0A030001,
	REASON_DEMOTED_STDIO = 0x0A030002,
	REASON_DEMOTED_AIO = 0x0A030003,
	REASON_DEMOTED_URGENT = 0x0A030004,
	REASON_DEMOTED_IO_URING = 0x0A030005,
	REASON_DEMOTED_OPTION = 0x0A030006,
	REASON_DEMOTED_CALL = 0x0A030007,
	REASON_DEMOTED_FORK = 0x0A030008,
	REASON_DEMOTED_PEER = 0x0A030009,
	REASON_DEMOTED_SANDBOX = 0x0A03000A,
	REASON_DEMOTED_STALLED = 0x0A03000B,
	REASON_DEMOTED_EPOLL = 0x0A03000C,
	REASON_DEMOTED_NESTED = 0x0A03000D,

	/* Ours: the connection was on SMC and was ended. */
	REASON_PEER_MEMORY = 0x0A040000,
};

/* Number of reasons above, REASON_NONE included. */
#define REASON_COUNT 69

/*
 * Short stable name in capitals, as tools print it; where Linux's smcr has
 * a name for the code it is that one. "UNKNOWN" for a code not listed.
 */
const char *reason_name(uint32_t code);

/* What happened, in one sentence without a full stop. */
const char *reason_text(uint32_t code);

/* What to change, in one sentence without a full stop. */
const char *reason_cure(uint32_t code);

/*
 * Index for counters, 0 .. REASON_COUNT - 1. Only a peer can bring a code
 * that is not listed, so those count as REASON_PEER_DECLINED.
 */
int reason_index(uint32_t code);

/* The code at an index; REASON_INTERNAL for an index out of range. */
uint32_t reason_code(int index);

/* True when the code is in the list above. */
bool reason_is_known(uint32_t code);

#endif
