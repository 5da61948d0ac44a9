package modelwrap

import "net/http"

// CheckRedirect is what FetchMedia thinks of a redirect. Only a server with a certificate that the system trusts could ask it
// about those from HTTPS.
func CheckRedirect(p FetchPolicy, to *http.Request, via []*http.Request) error {
	return guardedClient(p).CheckRedirect(to, via)
}
