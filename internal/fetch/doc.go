// SPDX-License-Identifier: Apache-2.0

// Package fetch downloads what a URL from an unknown source leads to: a message, a web page, a model. It connects only to
// public addresses, and to those that a policy allows. Addresses are checked after the name has been resolved, when the
// connection is made, so a name that resolves differently the second time gains nothing. There is no proxy, because a
// proxy would resolve the name again, and there are no cookies. Redirects are checked like the first URL. Size and time
// are limited.
package fetch
