// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"net/http"
	"net/netip"
)

// CheckRedirect is what FetchMedia thinks of a redirect. Only a server with a certificate that the system trusts could ask it
// about those from HTTPS.
func CheckRedirect(p FetchPolicy, to *http.Request, via []*http.Request) error {
	return guardedClient(p).CheckRedirect(to, via)
}

// CheckAddress is what FetchMedia thinks of an address that it is about to connect to.
func CheckAddress(p FetchPolicy, ip netip.Addr) error {
	return p.checkAddress(netip.AddrPortFrom(ip, 80).String())
}
