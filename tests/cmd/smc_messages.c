/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * smc_messages: prints one message of the protocol, as our encoders make it,
 * in hexadecimal. Each field has a value of its own, so that a dissector that
 * reads another place reads another value.
 *
 * usage: smc_messages NAME
 */
#include "smc_r/protocol/cdc_wire.h"
#include "smc_r/protocol/clc_wire.h"
#include "smc_r/protocol/llc_wire.h"

#include <stdio.h>
#include <string.h>

#define PEER_ID                                                                \
	{                                                                      \
		0x12, 0x34, 2, 0, 0, 0xaa, 0xbb, 1                             \
	}
#define GID                                                                    \
	{                                                                      \
		0xfe, 0x80, [11] = 0xff, 0xfe, 0xaa, 0xbb, 0x01                \
	}
#define GID_V2                                                                 \
	{                                                                      \
		[10] = 0xff, 0xff, 192, 168, 10, 5                             \
	}
#define MAC                                                                    \
	{                                                                      \
		2, 0, 0, 0xaa, 0xbb, 1                                         \
	}

static const struct clc_proposal proposal_v1 = {
    .version = 1,
    .path_v1 = CLC_PATH_SMCR,
    .path_v2 = CLC_PATH_NONE,
    .peer_id = PEER_ID,
    .gid = GID,
    .mac = MAC,
    .subnet = 0xc0a80a00,
    .subnet_bits = 24,
};

static const struct clc_proposal proposal_v2 = {
    .version = 2,
    .path_v1 = CLC_PATH_SMCR,
    .path_v2 = CLC_PATH_SMCR,
    .peer_id = PEER_ID,
    .gid = GID,
    .mac = MAC,
    .prefix_count = 1,
    .prefix = {{.address = {0x20, 0x01, 0x0d, 0xb8}, .bits = 32}},
    .release = 1,
    .gid_v2 = GID_V2,
    .connections_max = 255,
    .links_max = 2,
    .eid_count = 2,
    .eid = {"USERSPACE-SMC-TEST              ",
	    "ANOTHER-EID                     "},
};

static const struct clc_accept_confirm accept_v1 = {
    .type = CLC_ACCEPT,
    .version = 1,
    .path = CLC_PATH_SMCR,
    .first_contact = true,
    .peer_id = PEER_ID,
    .gid = GID,
    .mac = MAC,
    .qpn = 0xe4f5a6,
    .rkey = 0x157d2233,
    .index = 7,
    .token = 0x01020304,
    .size_code = 2,
    .mtu = 3,
    .address = 0x7f0012345678,
    .psn = 0x72f5fe,
};

static const struct clc_decline decline_v1 = {
    .version = 1,
    .out_of_sync = true,
    .peer_id = PEER_ID,
    .reason = 0x04000000,
};

static const struct clc_decline decline_v2 = {
    .version = 2,
    .peer_id = PEER_ID,
    .reason = 0x03030002,
    .os = CLC_OS_LINUX,
};

static const struct cdc_message cdc = {
    .sequence = 0x1234,
    .token = 0xfedcba98,
    .producer = {0x0102, 0x00034567},
    .consumer = {0x0a0b, 0x000c0d0e},
    .producer_flags = CDC_WRITE_BLOCKED | CDC_UPDATE_REQUESTED,
    .state_flags = CDC_CLOSED,
};

static const struct llc_message confirm_link = {
    .type = LLC_CONFIRM_LINK,
    .version = 1,
    .response = true,
    .confirm_link = {.no_eyecatcher = true,
		     .mac = MAC,
		     .gid = GID,
		     .qpn = 0xe4f5a6,
		     .link = 3,
		     .uid = 0x01020304,
		     .links_max = 2},
};

static const struct llc_message add_link = {
    .type = LLC_ADD_LINK,
    .version = 1,
    .response = true,
    .add_link = {.reject = true,
		 .reason = LLC_REJECT_NO_PATH,
		 .mac = MAC,
		 .gid = GID,
		 .qpn = 0xe4f5a6,
		 .link = 2,
		 .mtu = 3,
		 .psn = 0x123456},
};

static const struct llc_message delete_link = {
    .type = LLC_DELETE_LINK,
    .version = 1,
    .delete_link = {.orderly = true, .link = 5, .reason = LLC_DELETE_LOST_PATH},
};

static const struct llc_message confirm_rkey = {
    .type = LLC_CONFIRM_RKEY,
    .version = 1,
    .response = true,
    .confirm_rkey = {.negative = true,
		     .rkey = 0x01020304,
		     .address = 0x1112131415161718,
		     .other_count = 1,
		     .other = {{.link = 9,
				.rkey = 0x21222324,
				.address = 0x3132333435363738}}},
};

static const struct llc_message delete_rkey = {
    .type = LLC_DELETE_RKEY,
    .version = 1,
    .delete_rkey = {.count = 2, .rkey = {0x01020304, 0x11121314}},
};

static const struct llc_message test_link = {
    .type = LLC_TEST_LINK,
    .version = 1,
    .response = true,
    .test_link = {.data = "sixteen letters"},
};

/* What version 2 adds to an Accept, and to the Confirm that follows. */
static struct clc_accept_confirm accept_confirm_v2(int type)
{
	static const uint8_t gid[CLC_GID_BYTES] = GID_V2;
	struct clc_accept_confirm m = accept_v1;

	m.type = (uint8_t)type;
	m.version = 2;
	m.direct = true;
	m.os = CLC_OS_LINUX;
	m.release = 1;
	m.gid_count = type == CLC_CONFIRM;
	memcpy(m.eid, proposal_v2.eid[0], sizeof(m.eid));
	memset(m.host, ' ', sizeof(m.host));
	memcpy(m.host, "myhost", 6);
	memcpy(m.gid, gid, sizeof(m.gid));
	memcpy(m.gids[0], gid, sizeof(gid));
	return m;
}

static int encode(const char *name, uint8_t *out, size_t room)
{
	static const struct {
		const char *name;
		const struct llc_message *m;
	} llc[] = {
	    {"confirm_link", &confirm_link}, {"add_link", &add_link},
	    {"delete_link", &delete_link},   {"confirm_rkey", &confirm_rkey},
	    {"delete_rkey", &delete_rkey},   {"test_link", &test_link},
	};
	struct clc_accept_confirm m = accept_v1;

	for (size_t i = 0; i < sizeof(llc) / sizeof(llc[0]); i++)
		if (strcmp(name, llc[i].name) == 0)
			return llc_encode(llc[i].m, out, room);
	if (strcmp(name, "proposal_v1") == 0)
		return clc_encode_proposal(&proposal_v1, out, room);
	if (strcmp(name, "proposal_v2") == 0)
		return clc_encode_proposal(&proposal_v2, out, room);
	if (strcmp(name, "decline_v1") == 0)
		return clc_encode_decline(&decline_v1, out, room);
	if (strcmp(name, "decline_v2") == 0)
		return clc_encode_decline(&decline_v2, out, room);
	if (strcmp(name, "cdc") == 0) {
		cdc_encode(&cdc, out);
		return CDC_BYTES;
	}
	if (strcmp(name, "confirm_v1") == 0)
		m.type = CLC_CONFIRM;
	else if (strcmp(name, "accept_v2") == 0)
		m = accept_confirm_v2(CLC_ACCEPT);
	else if (strcmp(name, "confirm_v2") == 0)
		m = accept_confirm_v2(CLC_CONFIRM);
	else if (strcmp(name, "accept_v1") != 0)
		return -1;
	return clc_encode_accept_confirm(&m, out, room);
}

int main(int argc, char **argv)
{
	static uint8_t bytes[LLC_BYTES_MAX];
	int n;

	if (argc != 2) {
		fprintf(stderr, "usage: smc_messages NAME\n");
		return 2;
	}
	n = encode(argv[1], bytes, sizeof(bytes));
	if (n < 0) {
		fprintf(stderr, "smc_messages: %s: no such message\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < n; i++)
		printf("%02x%s", bytes[i], i + 1 < n ? " " : "\n");
	return 0;
}
