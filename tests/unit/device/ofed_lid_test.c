/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ofed_lid_test: what a LID means on a port that has GIDs.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "ofed_core/device/device.h"

static struct device port;
static uint8_t dgid[16];
static unsigned place;

static void have(unsigned i, const char *ip)
{
	struct gid *g = &port.gids[i];
	struct in_addr a;

	if (inet_pton(AF_INET, ip, &a) == 1)
		gid_from_ip4(g->raw, a.s_addr);
	else
		cr_assert_eq(inet_pton(AF_INET6, ip, g->raw), 1);
	g->is_used = true;
}

static void expect(uint16_t lid, const char *ip)
{
	uint8_t right[16];
	struct in_addr a;

	memset(dgid, 0, sizeof(dgid));
	cr_assert(device_gid_of_lid(&port, lid, dgid, &place));
	if (inet_pton(AF_INET, ip, &a) == 1)
		gid_from_ip4(right, a.s_addr);
	else
		cr_assert_eq(inet_pton(AF_INET6, ip, right), 1);
	cr_assert_arr_eq(dgid, right, 16);
}

Test(ofed_lid, a_port_without_addresses_has_none)
{
	cr_assert_eq(device_lid(&port), 0);
	cr_assert_not(device_gid_of_lid(&port, 0, dgid, &place));
	cr_assert_not(device_gid_of_lid(&port, 1, dgid, &place));
}

Test(ofed_lid, the_first_ip4_address_gives_it)
{
	have(0, "fe80::5054:ff:fe00:1");
	have(3, "10.77.5.1");
	have(4, "192.168.9.9");
	cr_assert_eq(device_lid(&port), 0x0501);
	expect(0x0501, "10.77.5.1");
	cr_assert_eq(place, 3);
	expect(0xfe02, "10.77.254.2");
	cr_assert_not(device_gid_of_lid(&port, 0, dgid, &place));
}

Test(ofed_lid, without_ip4_a_port_knows_its_own_only)
{
	have(2, "fe80::5054:ff:fe00:1");
	cr_assert_eq(device_lid(&port), 1);
	expect(1, "fe80::5054:ff:fe00:1");
	cr_assert_eq(place, 2);
	cr_assert_not(device_gid_of_lid(&port, 2, dgid, &place));
}
