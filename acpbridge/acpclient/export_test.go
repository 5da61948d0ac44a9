// SPDX-License-Identifier: Apache-2.0

package acpclient

import "net/http"

// SetTransport replaces how archives are downloaded, and returns a function that undoes it.
func SetTransport(t http.RoundTripper) (undo func()) {
	before := httpClient.Transport
	httpClient.Transport = t
	return func() { httpClient.Transport = before }
}

// Needed is the command that installs npm or uv on a system.
var Needed = needed
