// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"net/http"
	"net/netip"
)

// CheckRedirect is FetchMedia's check of a redirect. Testing redirects from HTTPS would otherwise need a server with a
// certificate that the system trusts.
func CheckRedirect(p FetchPolicy, to *http.Request, via []*http.Request) error {
	return guardedClient(p).CheckRedirect(to, via)
}

// CheckAddress is FetchMedia's check of an address before it connects.
func CheckAddress(p FetchPolicy, ip netip.Addr) error {
	return p.checkAddress(netip.AddrPortFrom(ip, 80).String())
}
