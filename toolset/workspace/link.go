// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

// lineFragment is how editors and web sites name lines in links: L5, L5-10, L5:10, L5-L10, and 5
// or L5,3 or L5C3-L10C7 with columns.
var lineFragment = lazy.Regexp(`^L?(\d{1,9})(?:[C,]\d{1,9})?(?:[-:]L?(\d{1,9})(?:[C,]\d{1,9})?)?$`)

// ParseLink splits a link of an editor to a file into the file's URI and the lines that are
// meant. Links are URIs with the scheme "file" that may have a fragment with lines, such as
// "#L5-10", and a query with the name of a symbol, such as "?symbol=Parse". The query is dropped,
// because such links have the symbol's lines as well. Another fragment, such as a heading, means a
// place in the file: the whole file is read. With another query, or a slash in the fragment, uri is
// returned as it is, and whoever reads the path refuses it.
func ParseLink(uri string) (path string, lines Range) {
	if !isURI(uri) {
		return uri, Range{}
	}
	path, fragment, _ := strings.Cut(uri, "#")
	path, query, queried := strings.Cut(path, "?")
	if queried && (!strings.HasPrefix(query, "symbol=") || strings.Contains(query, "&")) ||
		strings.Contains(fragment, "/") { // a name with a # that is not encoded
		return uri, Range{}
	}
	m := lineFragment().FindStringSubmatch(fragment)
	if m == nil {
		return path, Range{}
	}
	first, _ := strconv.Atoi(m[1]) // a few digits
	last, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
	first, last = min(first, last), max(first, last)
	if first < 1 {
		return path, Range{}
	}
	return path, Range{Line: first, Lines: last - first + 1}
}
