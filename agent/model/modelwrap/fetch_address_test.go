// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

// registries lists every entry of IANA's registries of special-purpose addresses, for IPv4 and IPv6, as of 2025-10-09.
var registries = []string{
	"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32",
	"::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
	"2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28",
	"2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7",
	"fe80::/10",
}

func TestFetchBlocksSpecialPurposeAddresses(t *testing.T) {
	more := []string{
		"168.63.129.16/32",                                                 // Azure
		"224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "::ffff:0:0:0/96", // multicast, site-local, compatible, translated
		"::/3", "4000::/2", "8000::/1", // everything outside of 2000::/3
	}
	for _, text := range append(more, registries...) {
		r := netip.MustParsePrefix(text)
		for _, ip := range []netip.Addr{r.Addr(), r.Addr().Next(), last(r).Prev(), last(r)} {
			if r.Contains(ip) {
				require.ErrorIs(t, modelwrap.CheckAddress(modelwrap.FetchPolicy{}, ip), modelwrap.ErrPrivateAddress, "%s in %s", ip, r)
			}
		}
	}
}

// last returns the last address of a range.
func last(r netip.Prefix) netip.Addr {
	b := r.Addr().AsSlice()
	for i := r.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}

func TestFetchAllowsPublicAddresses(t *testing.T) {
	for _, text := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.88.98.255",
		"192.88.100.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2001:200::", "2001:4860:4860::8888", "2001:db7:ffff::", "2001:db9::", "2003::", "2606:4700::6810:84e5", "2a00:1450::7f00:1",
		"2620:4f:7fff::", "2620:4f:8001::", "3ffe:ffff::", "3fff:1000::", "2000::", "2606:4700::400:5efe:808:808",
	} {
		require.NoError(t, modelwrap.CheckAddress(modelwrap.FetchPolicy{}, netip.MustParseAddr(text)), text)
	}
}

// ways lists the ways in which an IPv6 address can contain an IPv4 address.
var ways = map[string]func(v4 [4]byte) netip.Addr{
	"mapped":        behind("::ffff:0:0"),
	"compatible":    behind("::"),
	"translated":    behind("::ffff:0:0:0"),
	"NAT64":         behind("64:ff9b::"),
	"local NAT64":   behind("64:ff9b:1::"),
	"ISATAP":        behind("2606:4700::5efe:0:0"),
	"global ISATAP": behind("2606:4700::200:5efe:0:0"),
	"6to4": func(v4 [4]byte) netip.Addr {
		b := netip.MustParseAddr("2002::1").As16()
		copy(b[2:], v4[:])
		return netip.AddrFrom16(b)
	},
	"Teredo": func(v4 [4]byte) netip.Addr {
		b := netip.MustParseAddr("2001:0:4136:e378:8000:63bf::").As16()
		binary.BigEndian.PutUint32(b[12:], ^binary.BigEndian.Uint32(v4[:]))
		return netip.AddrFrom16(b)
	},
}

func behind(prefix string) func(v4 [4]byte) netip.Addr {
	return func(v4 [4]byte) netip.Addr {
		b := netip.MustParseAddr(prefix).As16()
		copy(b[12:], v4[:])
		return netip.AddrFrom16(b)
	}
}

func TestFetchBlocksAddressesThatContainIPv4(t *testing.T) {
	for name, carry := range ways {
		for _, v4 := range [][4]byte{{8, 8, 8, 8}, {127, 0, 0, 1}, {169, 254, 169, 254}} {
			url := "http://[" + carry(v4).String() + "]/"
			_, err := modelwrap.FetchMedia(&eye{}, modelwrap.FetchPolicy{}).Generate(t.Context(), show("image/png", url), nil)
			require.ErrorIs(t, err, modelwrap.ErrPrivateAddress, "%s: %s", name, url)
		}
	}
}

func TestAllowedNAT64BlocksPrivateAddresses(t *testing.T) {
	allowed := modelwrap.FetchPolicy{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")}}
	require.NoError(t, modelwrap.CheckAddress(allowed, ways["NAT64"]([4]byte{8, 8, 8, 8})))
	require.ErrorIs(t, modelwrap.CheckAddress(allowed, ways["NAT64"]([4]byte{169, 254, 169, 254})), modelwrap.ErrPrivateAddress)
	allowed.AllowPrivate = append(allowed.AllowPrivate, netip.MustParsePrefix("10.0.0.0/8"))
	require.NoError(t, modelwrap.CheckAddress(allowed, ways["NAT64"]([4]byte{10, 1, 2, 3})))
	require.ErrorIs(t, modelwrap.CheckAddress(allowed, ways["Teredo"]([4]byte{10, 1, 2, 3})), modelwrap.ErrPrivateAddress)

	all := modelwrap.FetchPolicy{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("::/0")}}
	require.NoError(t, modelwrap.CheckAddress(all, netip.MustParseAddr("::1")))
	require.NoError(t, modelwrap.CheckAddress(all, netip.MustParseAddr("fd00::1")))
	for name, carry := range ways {
		if name != "local NAT64" { // depends on the network
			require.ErrorIs(t, modelwrap.CheckAddress(all, carry([4]byte{127, 0, 0, 1})), modelwrap.ErrPrivateAddress, name)
		}
	}
}

func FuzzFetchBlocksPrivateIPv4(f *testing.F) {
	for _, seed := range []uint32{0, 0x7f000001, 0xa9fea9fe, 0x0a000001, 0xac100001, 0xc0a80001, 0xa83f8110, 0xffffffff, 0x64400000} {
		f.Add(seed)
	}
	everywhere := modelwrap.FetchPolicy{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("::/0")}}
	f.Fuzz(func(t *testing.T, n uint32) {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], n)
		private := modelwrap.CheckAddress(modelwrap.FetchPolicy{}, netip.AddrFrom4(v4)) != nil
		for _, text := range registries {
			if netip.MustParsePrefix(text).Contains(netip.AddrFrom4(v4)) {
				require.True(t, private, "%v is in %s", v4, text)
			}
		}
		for name, carry := range ways {
			ip := carry(v4)
			require.ErrorIs(t, modelwrap.CheckAddress(modelwrap.FetchPolicy{}, ip), modelwrap.ErrPrivateAddress, "%s: %s", name, ip)
			if private && name != "local NAT64" && ip != netip.IPv6Loopback() && !ip.IsUnspecified() {
				require.ErrorIs(t, modelwrap.CheckAddress(everywhere, ip), modelwrap.ErrPrivateAddress, "%s: %s", name, ip)
			}
		}
	})
}
