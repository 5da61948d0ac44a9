// SPDX-License-Identifier: Apache-2.0

package web

import "github.com/ponte-go/ponte/webbridge"

// page is the page at "/".
var page = webbridge.Page()
