// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/netip"
	"slices"
)

// checkAddress checks an address with port before a connection is made to it.
func (p *Policy) checkAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrPrivateAddress, address)
	}
	return p.CheckIP(at.Addr())
}

// CheckIP returns an error unless ip is public or allowed by the policy. If an allowed address
// contains an IPv4 address, such as one of NAT64, that address is checked too.
func (p *Policy) CheckIP(ip netip.Addr) error {
	ip = ip.WithZone("")
	if isPublic(ip) {
		return nil
	}
	if slices.ContainsFunc(p.AllowPrivate, func(r netip.Prefix) bool { return r.Contains(ip) }) {
		inner, ok := carried(ip)
		if !ok {
			return nil
		}
		if err := p.CheckIP(inner); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrPrivateAddress, ip)
}

// special4 and special6 are ranges of IANA's special-purpose address registries (RFC 6890, as of
// 2025-10) that the methods of netip.Addr do not cover. They include those marked as globally
// reachable, which are infrastructure such as relays and serve no media. 168.63.129.16, used by
// Azure for its virtual machines, is added. special6 lists only ranges within 2000::/3, because
// nothing else in IPv6 is public.
var (
	special4 = prefixes(
		"0.0.0.0/8",        // this network
		"100.64.0.0/10",    // shared by carriers
		"168.63.129.16/32", // Azure
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.31.196.0/24",  // AS112
		"192.52.193.0/24",  // AMT
		"192.88.99.0/24",   // 6to4 relays
		"192.175.48.0/24",  // AS112
		"198.18.0.0/15",    // benchmarking
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"240.0.0.0/4",      // reserved, and broadcast
	)
	special6 = prefixes(
		"2001::/23",         // protocol assignments: Teredo, benchmarking, ORCHID, drone ids and more
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	)
	global6 = netip.MustParsePrefix("2000::/3") // all of the global unicast space that IANA has allocated
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// isPublic reports whether an address is public. An IPv6 address that contains an IPv4 address is
// not.
func isPublic(ip netip.Addr) bool {
	special := special4
	if !ip.Is4() {
		if special = special6; !global6.Contains(ip) || isISATAP(ip) {
			return false
		}
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() &&
		!slices.ContainsFunc(special, func(r netip.Prefix) bool { return r.Contains(ip) })
}

// isISATAP reports whether an IPv6 address ends in an ISATAP interface id (RFC 5214), which
// contains an IPv4 address. It may follow any prefix.
func isISATAP(ip netip.Addr) bool {
	b := ip.As16()
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

var (
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, 2.5.5.1
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380
	loopback   = netip.IPv6Loopback()
)

// carried returns the IPv4 address that an IPv6 address contains, if its form shows it. A
// network-specific NAT64 prefix does not.
func carried(ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch {
	case ip.Is4(), ip == loopback, ip.IsUnspecified():
		return ip, false
	case ip.Is4In6(), compatible.Contains(ip), translated.Contains(ip), nat64.Contains(ip), isISATAP(ip):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case teredo.Contains(ip): // the client's address is inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	}
	return ip, false
}
