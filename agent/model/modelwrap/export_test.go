// SPDX-License-Identifier: Apache-2.0

package modelwrap

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/ponte-go/ponte/internal/fetch"
)

// CheckRedirect is FetchMedia's check of a redirect. Testing redirects from HTTPS would otherwise need a server with a
// certificate that the system trusts.
func CheckRedirect(p FetchPolicy, to *http.Request, via []*http.Request) error {
	return fetch.New(fetch.Policy{Hosts: p.Hosts, AllowPrivate: p.AllowPrivate}).CheckRedirect(to, via)
}

// CheckAddress is FetchMedia's check of an address before it connects.
func CheckAddress(p FetchPolicy, ip netip.Addr) error {
	guard := fetch.Policy{Hosts: p.Hosts, AllowPrivate: p.AllowPrivate}
	return guard.CheckIP(ip)
}

// UsePrices replaces the data of ListPrices until the test ends.
func UsePrices(t testing.TB, data string) error {
	before := providers
	t.Cleanup(func() { providers = before })
	list, err := parse([]byte(data))
	providers = func() []provider { return list }
	return err
}

// EndedError is the error for a request whose context has ended.
var EndedError = ended
