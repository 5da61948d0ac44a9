// SPDX-License-Identifier: Apache-2.0

package main

import "net/http"

// page is the page at "/". Nil serves a line of text.
var page http.Handler
