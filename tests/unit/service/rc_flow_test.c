/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "smc_r/service/rc_flow.h"
#include "tests/unit/hex.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS       1000000ULL
#define LOG_SIZE 8192
#define ANY      "?" /* what comes out is not looked at */

/* Messages of traces between two Linux 6.1; zeros at the end are left out. */
#define V1_CONFIRM_LINK                                                        \
	"012c0003525400000001fe80000000000000505400fffe00000100001101000001"   \
	"0102"
#define V1_CONFIRM_LINK_R                                                      \
	"012c0083525400000002fe80000000000000505400fffe00000200001101000001"   \
	"0102"
#define V1_ADD_LINK                                                            \
	"022c00005254000000010000fe80000000000000505400fffe0000010000120203"   \
	"8516ea"
#define V1_ADD_LINK_R                                                          \
	"022c01c05254000000010000fe80000000000000505400fffe0000010000120203"   \
	"8516ea"
#define V2_CONFIRM_LINK                                                        \
	"212c000352540000000100000000000000000000ffff0a00000100001101000001"   \
	"0102"
#define V2_CONFIRM_LINK_R                                                      \
	"212c008352540000000200000000000000000000ffff0a00000200001101000001"   \
	"0102"
#define V2_ADD_LINK                                                            \
	"2258000052540000000100000000000000000000" /* its keys are below */    \
	"0000ffff0a0000010000120203d05bc600000000000000008000"                 \
	"00000000000000000000ffff0a00000100000000000000000100"                 \
	"0000032400000563ffff888008160000"
/* Ours has a reason in version 2, which Linux leaves out. */
#define V2_ADD_LINK_R                                                          \
	"222c00c152540000000100000000000000000000"                             \
	"0000ffff0a0000010000120203d05bc6"
/* Our server's; the offer has no QP, no MTU, no PSN. */
#define V1_OFFER                                                               \
	"022c00005254000000010000fe80000000000000505400fffe00000100000002"
#define V1_OFFER_R                                                             \
	"022c01c05254000000010000fe80000000000000505400fffe00000100000002"
#define V2_OFFER                                                               \
	"222c00005254000000010000" /* MAC */                                   \
	"00000000000000000000ffff0a00000100000002"
#define V2_OFFER_R                                                             \
	"222c00c05254000000010000"                                             \
	"00000000000000000000ffff0a00000100000002"
#define K1        "062c00000000000602ffff888008180000"
#define K1R       "062c00800000000602ffff888008180000"
#define K1R_SHORT "062c00800000000602ffff88800818"
#define K3_SHORT  "062c000000000003ccffff88800635"
#define K3        "062c000000000003ccffff888006350000"
#define K3R       "062c008000000003ccffff888006350000"

/* Behind the header: a client that takes the offer. */
#define V1_ACCEPT_REST                                                         \
	"5254000000020000fe80000000000000505400fffe00000200001202"

enum op {
	OPEN,    /* link arg */
	GET,     /* message `in` on link arg */
	KNOW,    /* the CLC message named rkey arg, address 0, on link 0 */
	TIME,    /* it is arg ms */
	CONFIRM, /* own request arg: row arg of own_keys */
	DELETE,
	END, /* reason arg */
	FAIL,
	LAST,
};

struct step {
	enum op op;
	uint64_t arg;
	const char *in;
	const char *out;
};

static const struct rc_flow_key own_keys[] = {
    {{0x3cc, 0x40c}, {0xffff888006350000, 0x7000}},
    {{0x602, 0x612}, {0xffff888008180000, 0x8000}},
    {{0x347, 0}, {0xffff888006350000, 0}},
    {{0x675, 0}, {0xffff8880081a0000, 0}},
};

static struct rc_flow flow;
static uint64_t now = MS;

static const struct rc_flow_port *port_of(int role, int version)
{
	static struct rc_flow_port port;
	uint8_t low = role == RC_FLOW_SERVER ? 1 : 2;
	static const char *const gids[] = {"fe80000000000000505400fffe000000",
					   "00000000000000000000ffff0a000000"};

	memcpy(port.mac, "\x52\x54\x00\x00\x00", 5);
	port.mac[5] = low;
	hex_decode(gids[version - 1], port.gid, sizeof(port.gid));
	port.gid[15] = low;
	port.qpn = 17;
	port.number = 1;
	port.uid = 0x101;
	return &port;
}

static void begin(struct rc_flow *f, enum rc_flow_role role, uint8_t version,
		  uint8_t links_max)
{
	struct rc_flow_terms terms = {.role = role,
				      .version = version,
				      .links_max = links_max,
				      .test_link_ns = 30000 * MS};

	rc_flow_init(f, &terms);
}

static int describe(char *text, size_t room, const struct rc_flow_action *a)
{
	int n = LLC_BYTES;
	int at;

	switch (a->type) {
	case RC_FLOW_KEY_REMOVED:
		return snprintf(text, room, "-%d ", a->row);
	case RC_FLOW_KEY_ADDED:
		return snprintf(text, room, "+%d ", a->row);
	case RC_FLOW_RESULT:
		return snprintf(text, room, "result%u:%d ", a->id, -a->error);
	case RC_FLOW_CONFIRMED:
		return snprintf(text, room, "confirmed%d ", a->link);
	case RC_FLOW_READY:
		return snprintf(text, room, "ready ");
	case RC_FLOW_LINK_DEAD:
		return snprintf(text, room, "dead%d ", a->link);
	case RC_FLOW_ENDED:
		return snprintf(text, room, "ended:%d:%x ", -a->error,
				a->reason);
	case RC_FLOW_SEND:
		break;
	}
	while (n > 0 && a->bytes[n - 1] == 0)
		n--;
	at = snprintf(text, room, "%d:", a->link);
	for (int i = 0; i < n; i++)
		at +=
		    snprintf(text + at, room - (size_t)at, "%02x", a->bytes[i]);
	return at + snprintf(text + at, room - (size_t)at, " ");
}

static const char *pulled(void)
{
	static char text[LOG_SIZE];
	struct rc_flow_action a;
	size_t at = 0;

	text[0] = '\0';
	while (rc_flow_next(&flow, &a))
		at += (size_t)describe(text + at, sizeof(text) - at, &a);
	if (at > 0)
		text[at - 1] = '\0';
	return text;
}

static void get(struct rc_flow *f, int link, const char *hex)
{
	static struct llc_message m;
	uint8_t bytes[256] = {0};
	size_t n = hex_decode(hex, bytes, sizeof(bytes));

	if (n < LLC_BYTES)
		n = LLC_BYTES;
	cr_assert_eq(llc_decode(&m, bytes, n), 0, "%s", hex);
	rc_flow_receive(f, link, &m, now);
}

static void take(const struct step *s)
{
	const struct rc_flow_key *key = &own_keys[s->arg % 4];
	struct rc_flow_port port;

	switch (s->op) {
	case OPEN:
		port = *port_of(flow.terms.role, flow.terms.version);
		port.number = (uint8_t)(s->arg + 1);
		cr_assert_eq(rc_flow_open_link(&flow, (int)s->arg, &port, now),
			     0);
		break;
	case GET:
		get(&flow, (int)s->arg, s->in);
		break;
	case KNOW:
		rc_keys_add(&flow.keys, 0, (uint32_t)s->arg, 0);
		break;
	case TIME:
		now = s->arg * MS;
		rc_flow_time(&flow, now);
		break;
	case CONFIRM:
		cr_assert_eq(
		    rc_flow_confirm_rkey(&flow, (uint32_t)s->arg, key, now), 0);
		break;
	case DELETE:
		cr_assert_eq(
		    rc_flow_delete_rkeys(&flow, (uint32_t)s->arg, key, 1, now),
		    0);
		break;
	case END:
		rc_flow_end(&flow, (enum llc_delete)s->arg, false);
		break;
	case FAIL:
		rc_flow_fail_link(&flow, (int)s->arg, now);
		break;
	case LAST:
		break;
	}
}

static void play(const struct step *steps)
{
	for (int i = 0; steps[i].op != LAST; i++) {
		const char *out;

		take(&steps[i]);
		out = pulled();
		if (strcmp(steps[i].out, ANY) != 0)
			cr_assert_str_eq(out, steps[i].out, "step %d: %s", i,
					 out);
	}
}

static void play_as(enum rc_flow_role role, uint8_t version,
		    const struct step *steps)
{
	begin(&flow, role, version, 2);
	now = MS;
	play(steps);
}

/* Beginnings of the tables of steps. */
#define CLIENT                                                                 \
	{OPEN, 0, 0, ""}, {GET, 0, V1_CONFIRM_LINK, ANY},                      \
	{                                                                      \
		GET, 0, V1_ADD_LINK, ANY                                       \
	}
#define SERVER                                                                 \
	{OPEN, 0, 0, ANY}, {GET, 0, V1_CONFIRM_LINK_R, ANY},                   \
	{                                                                      \
		GET, 0, V1_OFFER_R, ANY                                        \
	}
#define NO_MORE                                                                \
	{                                                                      \
		LAST, 0, 0, 0                                                  \
	}

/* ---- Traces -------------------------------------------------------------- */

Test(rc_flow, client_of_the_trace_v1)
{
	play_as(
	    RC_FLOW_CLIENT, 1,
	    (const struct step[]){
		{OPEN, 0, 0, ""},
		{GET, 0, V1_CONFIRM_LINK, "0:" V1_CONFIRM_LINK_R " confirmed0"},
		{GET, 0, V1_ADD_LINK, "0:" V1_ADD_LINK_R " ready"},
		{KNOW, 0x3a9, 0, ""},
		{DELETE, 0, 0, "0:092c000001000000000003cc"},
		{GET, 0, "092c008001000000000003a9", ""},
		{GET, 0, "092c008001000000000003cc", "result0:0"},
		{GET, 0, K1, "+1 0:" K1R_SHORT},
		{GET, 0, "092c000001000000000003a9",
		 "-0 0:092c008001000000000003a9"},
		{CONFIRM, 0, 0, "0:062c000000000003ccffff88800635"},
		{GET, 0, K3R, "result0:0"},
		{DELETE, 0, 0, "0:092c000001000000000003cc"},
		{GET, 0, "092c008001000000000003cc", "result0:0"},
		{GET, 0, "092c00000100000000000602",
		 "-1 0:092c00800100000000000602"},
		{END, LLC_DELETE_OPERATOR, 0, "0:042c0040000002 ended:0:20000"},
		{GET, 0, "042c006000000200", ""},
		NO_MORE});
}

Test(rc_flow, server_of_the_trace_v1)
{
	play_as(RC_FLOW_SERVER, 1,
		(const struct step[]){
		    {OPEN, 0, 0, "0:" V1_CONFIRM_LINK},
		    {GET, 0, V1_CONFIRM_LINK_R, "confirmed0 0:" V1_OFFER},
		    {GET, 0, V1_OFFER_R, "ready"},
		    {KNOW, 0x3cc, 0, ""},
		    {GET, 0, "092c000001000000000003cc",
		     "-0 0:092c008001000000000003cc"},
		    {CONFIRM, 1, 0, "0:062c00000000000602ffff88800818"},
		    {GET, 0, K1R, "result1:0"},
		    {GET, 0, K3, "+0 0:062c008000000003ccffff88800635"},
		    {DELETE, 1, 0, "0:092c00000100000000000602"},
		    {GET, 0, "092c00800100000000000602", "result1:0"},
		    {GET, 0, "042c00400000020000",
		     "0:042c0060000002 ended:0:20000"},
		    NO_MORE});
}

Test(rc_flow, client_of_the_trace_v2)
{
	play_as(
	    RC_FLOW_CLIENT, 2,
	    (const struct step[]){
		{OPEN, 0, 0, ""},
		{GET, 0, V2_CONFIRM_LINK, "0:" V2_CONFIRM_LINK_R " confirmed0"},
		{GET, 0, V2_ADD_LINK, "0:" V2_ADD_LINK_R " ready"},
		{DELETE, 2, 0, "0:292c00000100000000000347"},
		{GET, 0, "292c008001", "result2:0"},
		{GET, 0, "262c00000000000675ffff8880081a0000",
		 "+0 0:262c00800000000675ffff8880081a"},
		{CONFIRM, 2, 0, "0:262c00000000000347ffff88800635"},
		/* the two cross */
		{GET, 0, "292c00000100000000000675", "-0 0:292c008001"},
		{GET, 0, "262c00800000000347ffff888006350000", "result2:0"},
		{GET, 0, "272c", "0:272c0080"},
		NO_MORE});
}

Test(rc_flow, a_late_response_without_a_key_ends_no_other_request)
{
	play_as(
	    RC_FLOW_CLIENT, 2,
	    (const struct step[]){{OPEN, 0, 0, ""},
				  {GET, 0, V2_CONFIRM_LINK, ANY},
				  {GET, 0, V2_ADD_LINK, ANY},
				  {DELETE, 2, 0, "0:292c00000100000000000347"},
				  {DELETE, 3, 0, ""},
				  {TIME, 2002, 0, ANY}, /* 2 failed, 3 is out */
				  {GET, 0, "292c008001", ""},
				  {GET, 0, "292c008001", "result3:0"},
				  NO_MORE});
}

Test(rc_flow, server_of_the_trace_v2)
{
	play_as(RC_FLOW_SERVER, 2,
		(const struct step[]){
		    /* The peer's byte order is not known yet. */
		    {OPEN, 0, 0,
		     "0:21002c0352540000000100000000000000000000ffff0a00000100"
		     "0011010000010102"},
		    {GET, 0, V2_CONFIRM_LINK_R, "confirmed0 0:" V2_OFFER},
		    {GET, 0, V2_OFFER_R, "ready"},
		    {KNOW, 0x347, 0, ""},
		    {GET, 0, "292c00000100000000000347", "-0 0:292c008001"},
		    {CONFIRM, 3, 0, "0:262c00000000000675ffff8880081a"},
		    {DELETE, 3, 0, ""},
		    {GET, 0, "262c00000000000347ffff888006350000",
		     "+0 0:262c00800000000347ffff88800635"},
		    {GET, 0, "262c00800000000675ffff8880081a0000",
		     "result3:0 0:292c00000100000000000675"},
		    {GET, 0, "292c008001", "result3:0"},
		    {GET, 0, "242c00400000020000",
		     "0:242c0060000002 ended:0:20000"},
		    NO_MORE});
}

/* Both ends of v1-2links-linkdown: port of link 2 goes down at the client. */
Test(rc_flow, second_link_goes_down_as_in_the_trace)
{
	static const char second[] = "012c0003525400000001fe800000000000005054"
				     "00fffe000001000012020000010102";
	static const char second_r[] = "012c0083525400000002fe8000000000000050"
				       "5400fffe000002000012020000010102";

	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){
		    CLIENT,
		    {OPEN, 1, 0, ""},
		    {GET, 1, second, ANY},
		    {GET, 0, "062c00000100000505ffff88800849000002000005db11",
		     "+0 0:062c00800100000505ffff88800849000002000005db11"},
		    /* Now the RMB has another name on link 2. */
		    {GET, 0, "062c00000100000505ffff88800849000002000005db12",
		     "0:062c00a00100000505ffff88800849000002000005db12"},
		    {FAIL, 1, 0, "dead1 0:042c0020020001"},
		    {GET, 0, "042c00200200010000", "0:042c00a0020010"},
		    NO_MORE});
	cr_assert_eq(flow.keys.row[0].links, 1);
	play_as(
	    RC_FLOW_SERVER, 1,
	    (const struct step[]){SERVER,
				  {OPEN, 1, 0, ANY},
				  {GET, 1, second_r, "confirmed1"},
				  {CONFIRM, 0, 0,
				   "0:062c000001000003ccffff88800635000002"
				   "0000040c00000000000070"},
				  /* Kept until our own flow is over. */
				  {GET, 0, "042c00200200010000", ""},
				  {GET, 0, K3R, "result0:0 0:042c0020020001"},
				  {GET, 0, "042c00a00200100000", "dead1"},
				  /* It comes back, and fails at our end. */
				  {OPEN, 1, 0, ANY},
				  {GET, 1, second_r, "confirmed1"},
				  {FAIL, 1, 0, "dead1 0:042c0020020001"},
				  {CONFIRM, 0, 0, ""},
				  {GET, 0, "042c00a00200000000", "0:" K3_SHORT},
				  NO_MORE});
}

/* ---- Flows --------------------------------------------------------------- */

Test(rc_flow, requests_of_both_ends_cross)
{
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){
		    CLIENT,
		    {CONFIRM, 0, 0, ANY},
		    {CONFIRM, 1, 0, ""},
		    {GET, 0, K1, "+0 0:" K1R_SHORT},
		    {GET, 0, V1_ADD_LINK, "0:" V1_ADD_LINK_R},
		    {GET, 0, "072c0000aabb", "0:072c0080aabb"},
		    {GET, 0, K1R, ""}, /* of the request that waits */
		    {GET, 0, K3R, "result0:0 0:062c00000000000602ffff88800818"},
		    {GET, 0, "062c00b000000006020000", "result1:11"},
		    {CONFIRM, 1, 0, ANY},
		    {GET, 0, "062c00a000000006020000", "result1:121"},
		    NO_MORE});
}

Test(rc_flow, client_waits_for_confirm_link_and_for_an_offer)
{
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){{OPEN, 0, 0, ""},
				      {TIME, 4000, 0, ""},
				      {TIME, 4001, 0, "dead0 ended:110:10000"},
				      {GET, 0, V1_CONFIRM_LINK, ""},
				      NO_MORE});
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){
		    {OPEN, 0, 0, ""},
		    {GET, 0, V1_CONFIRM_LINK, ANY},
		    {CONFIRM, 0, 0, ""},
		    {TIME, 2000, 0, ""},
		    {TIME, 2001, 0, "ready 0:062c000000000003ccffff88800635"},
		    NO_MORE});
	play_as(RC_FLOW_SERVER, 1,
		(const struct step[]){{OPEN, 0, 0, ANY},
				      {TIME, 2001, 0, "dead0 ended:110:10000"},
				      NO_MORE});
}

Test(rc_flow, client_adopts_the_number_and_keeps_its_uid)
{
	static struct llc_message m;
	struct rc_flow_port port = *port_of(RC_FLOW_CLIENT, 1);
	struct rc_flow_action a;

	begin(&flow, RC_FLOW_CLIENT, 1, 2);
	port.uid = 0x201;
	port.number = 9;
	cr_assert_eq(rc_flow_open_link(&flow, 0, &port, now), 0);
	cr_assert_eq(rc_flow_open_link(&flow, 1, &port, now), -EBUSY);
	get(&flow, 0, V1_CONFIRM_LINK_R); /* the client's own kind */
	cr_assert_not(rc_flow_next(&flow, &a));
	get(&flow, 0, V1_CONFIRM_LINK);
	cr_assert(rc_flow_next(&flow, &a));
	cr_assert_eq(llc_decode(&m, a.bytes, LLC_BYTES), 0);
	cr_assert_eq(m.confirm_link.link, 1);
	cr_assert_eq(m.confirm_link.uid, 0x201);
	cr_assert_eq(flow.link[0].peer_uid, 0x101);
	cr_assert_eq(flow.link[0].port.number, 1);
}

Test(rc_flow, eyecatchers_and_one_link)
{
	play_as(
	    RC_FLOW_CLIENT, 1,
	    (const struct step[]){{OPEN, 0, 0, ""},
				  {GET, 0, "012c0000", "dead0 ended:71:10000"},
				  NO_MORE});
	begin(&flow, RC_FLOW_SERVER, 1, 1);
	play((const struct step[]){
	    {OPEN, 0, 0, ANY},
	    {GET, 0, V1_CONFIRM_LINK_R, "confirmed0 ready"},
	    NO_MORE});
}

Test(rc_flow, client_that_takes_the_offer_loses_it)
{
	play_as(RC_FLOW_SERVER, 1,
		(const struct step[]){{OPEN, 0, 0, ANY},
				      {GET, 0, V1_CONFIRM_LINK_R, ANY},
				      {GET, 0, "022c0080" V1_ACCEPT_REST,
				       "0:042c0000020001 ready"},
				      NO_MORE});
}

Test(rc_flow, unanswered_request_has_the_link_tested)
{
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){
		    CLIENT,
		    {CONFIRM, 0, 0, ANY},
		    {CONFIRM, 1, 0, ""},
		    {TIME, 2000, 0, ""},
		    {TIME, 2001, 0,
		     "result0:110 0:072c 0:062c00000000000602ffff88800818"},
		    {TIME, 4000, 0, ""},
		    {TIME, 4001, 0, "dead0 result1:104 ended:110:10000"},
		    NO_MORE});
}

Test(rc_flow, silent_link_is_tested)
{
	play_as(RC_FLOW_SERVER, 1,
		(const struct step[]){SERVER,
				      {TIME, 30000, 0, ""},
				      {TIME, 30001, 0, "0:072c"},
				      {GET, 0, "072c0080", ""},
				      {TIME, 60000, 0, ""},
				      {TIME, 60001, 0, "0:072c"},
				      {TIME, 62001, 0, "dead0 ended:110:10000"},
				      NO_MORE});
	cr_assert_eq(rc_flow_next_ns(&flow), UINT64_MAX);
}

Test(rc_flow, what_does_not_belong_is_dropped)
{
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){{GET, 0, K1, ""},
				      CLIENT,
				      {GET, 0, V1_CONFIRM_LINK, ""},
				      {GET, 0, V1_CONFIRM_LINK_R, ""},
				      {GET, 0, K1R, ""},
				      {GET, 1, K1, ""},
				      {GET, 0, "272c", ""},
				      {GET, 0, "042c00a00200000000", ""},
				      {GET, 0, "082c000001", ""},
				      {GET, 0, "032c00000200", ""},
				      NO_MORE});
	cr_assert_eq(flow.dropped, 9);
}

Test(rc_flow, server_answers_request_add_link)
{
	begin(&flow, RC_FLOW_SERVER, 2, 1);
	play((const struct step[]){{OPEN, 0, 0, ANY},
				   {GET, 0, V2_CONFIRM_LINK_R, ANY},
				   {GET, 0, "252c", "0:252c00c1"},
				   NO_MORE});
}

Test(rc_flow, links_are_deleted_one_by_one_or_all)
{
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){
		    CLIENT,
		    {GET, 0, "042c00000700010000", "0:042c0080070010"},
		    {GET, 0, "042c00000100010000",
		     "0:042c008001 dead0 ended:0:10000"},
		    NO_MORE});
	play_as(RC_FLOW_CLIENT, 1,
		(const struct step[]){CLIENT,
				      {CONFIRM, 0, 0, ANY},
				      {DELETE, 1, 0, ""},
				      {GET, 0, "042c006000000300",
				       "result0:104 result1:104 ended:0:30000"},
				      NO_MORE});
	play_as(RC_FLOW_SERVER, 1,
		(const struct step[]){
		    SERVER,
		    {GET, 0, "042c00200100010000", "0:042c0020010001"},
		    {TIME, 2001, 0, "dead0 ended:67:10000"},
		    NO_MORE});
}

Test(rc_flow, full_table_and_unknown_keys)
{
	char request[64];

	play_as(RC_FLOW_CLIENT, 1, (const struct step[]){CLIENT, NO_MORE});
	for (int i = 0; i < RC_KEYS_ROWS; i++) {
		snprintf(request, sizeof(request), "062c000000%08x", i + 1);
		get(&flow, 0, request);
		pulled();
	}
	play((const struct step[]){
	    {GET, 0, "062c00000000000602", "0:062c00b00000000602"},
	    {GET, 0, "092c00000200000000000003000fffff",
	     "-2 0:092c00a00240000000000003000fffff"},
	    {GET, 0, "062c00000000000602", "+2 0:062c00800000000602"},
	    NO_MORE});
}

Test(rc_flow, requests_are_bounded_and_do_not_wait_for_ever)
{
	begin(&flow, RC_FLOW_CLIENT, 1, 2);
	now = 0;
	for (uint32_t i = 0; i < RC_FLOW_REQUESTS_MAX; i++)
		cr_assert_eq(rc_flow_confirm_rkey(&flow, i, own_keys, now), 0);
	cr_assert_eq(rc_flow_confirm_rkey(&flow, 99, own_keys, now), -EAGAIN);
	cr_assert_eq(rc_flow_next_ns(&flow), 20000 * MS);
	rc_flow_time(&flow, 20000 * MS);
	cr_assert_eq(flow.action_count, RC_FLOW_REQUESTS_MAX);
	pulled();
	cr_assert_eq(flow.waiting_count, 0);
	rc_flow_end(&flow, LLC_DELETE_PROGRAM, true);
	cr_assert_eq(rc_flow_confirm_rkey(&flow, 0, own_keys, now),
		     -ECONNRESET);
}

/* ---- Two machines -------------------------------------------------------- */

static struct rc_flow ends[2]; /* by role */
static int results[2];
static int readies[2];
static int ended[2];

/* Carries messages both ways until nobody has anything to say. */
static void converse(void)
{
	static struct llc_message m;
	struct rc_flow_action a;
	int quiet = 0;

	for (int side = 0; quiet < 2; side = !side) {
		if (!rc_flow_next(&ends[side], &a)) {
			quiet++;
			continue;
		}
		quiet = 0;
		if (a.type == RC_FLOW_RESULT && a.error == 0)
			results[side]++;
		readies[side] += a.type == RC_FLOW_READY;
		ended[side] += a.type == RC_FLOW_ENDED && a.error == 0;
		if (a.type != RC_FLOW_SEND)
			continue;
		cr_assert_eq(llc_decode(&m, a.bytes, LLC_BYTES), 0);
		rc_flow_receive(&ends[!side], a.link, &m, now);
	}
}

static void live(uint8_t version, int ender)
{
	memset(results, 0, sizeof(results));
	memset(readies, 0, sizeof(readies));
	memset(ended, 0, sizeof(ended));
	for (int role = 0; role < 2; role++) {
		begin(&ends[role], (enum rc_flow_role)role, version, 2);
		cr_assert_eq(rc_flow_open_link(&ends[role], 0,
					       port_of(role, version), now),
			     0);
	}
	converse();
	cr_assert(readies[0] == 1 && readies[1] == 1);
	for (int round = 0; round < 8; round++) {
		for (int side = 0; side < 2; side++) {
			rc_flow_confirm_rkey(&ends[side], 0, &own_keys[side],
					     now);
			rc_flow_delete_rkeys(&ends[side], 1, &own_keys[side], 1,
					     now);
			rc_flow_confirm_rkey(&ends[side], 2, &own_keys[side],
					     now);
		}
		converse();
	}
	cr_assert(results[0] == 24 && results[1] == 24);
	for (int side = 0; side < 2; side++)
		cr_assert_geq(rc_keys_find(&ends[side].keys, 0,
					   own_keys[!side].rkey[0],
					   own_keys[!side].address[0]),
			      0);
	now += 30000 * MS;
	for (int side = 0; side < 2; side++)
		rc_flow_time(&ends[side], now);
	converse();
	cr_assert(ends[0].link[0].test_ns == 0 && ends[1].link[0].test_ns == 0);
	rc_flow_end(&ends[ender], LLC_DELETE_PROGRAM, true);
	converse();
	cr_assert(ended[0] == 1 && ended[1] == 1);
	cr_assert(ends[!ender].dropped == 0);
}

Test(rc_flow, two_machines_live_together_to_the_end)
{
	for (uint8_t version = 1; version <= 2; version++)
		for (int ender = 0; ender < 2; ender++)
			live(version, ender);
}
