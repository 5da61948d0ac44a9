// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads URLs from unknown sources: a message, a web page, a model. It connects
// only to public addresses, and to addresses that a policy allows. Addresses are checked after the
// name has been resolved, when the connection is made, so a name that resolves differently the
// second time gains nothing. It uses no proxy, because a proxy would resolve the name again, and no
// cookies. Redirects are checked like the first URL. Size and time are limited.
package fetch
