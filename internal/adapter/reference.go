// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"net/url"
	"strconv"
	"strings"
)

// Reference returns what a reference within a JSON schema points to: "#" and a JSON pointer (RFC
// 6901), with percent-encoding. It reports false for references to other documents, and for those
// that lead to no schema.
func Reference(root map[string]any, ref string) (map[string]any, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	if !local || path != "" && path[0] != '/' {
		return nil, false
	}
	var at any = root
	for path != "" {
		var step string
		if step, path = path[1:], ""; strings.Contains(step, "/") {
			end := strings.IndexByte(step, '/')
			step, path = step[:end], step[end:]
		}
		switch within := at.(type) {
		case map[string]any:
			at = within[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(within) {
				return nil, false
			}
			at = within[n]
		}
	}
	schema, ok := at.(map[string]any)
	return schema, ok
}
