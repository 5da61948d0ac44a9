// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// whereabouts tells whether a value is in a text. The validator sees only decoded values, in which
// a field that is absent looks like one with the zero value.
type whereabouts uint8

const (
	here    whereabouts = iota
	absent              // or null
	nowhere             // within a value that is absent
)

// find looks for the value at a path, as the validator writes it, in a decoded text that n was
// compiled for. Keys of maps may make a path ambiguous. A value that may be there is here.
func (n *node) find(value any, path string) whereabouts {
	switch v := value.(type) {
	case nil:
		if path != "" {
			return nowhere
		}
		return absent
	case []any:
		inner, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(inner); err == nil && path[0] == '[' && uint(i) < uint(len(v)) {
			return n.values().items.find(v[i], rest)
		}
	case map[string]any:
		if path != "" {
			return n.values().findField(v, path)
		}
	}
	return here
}

func (n *node) findField(object map[string]any, path string) whereabouts {
	result, found := here, false
	try := func(w whereabouts) {
		if !found || w == here {
			result, found = w, true
		}
	}
	for i := range n.fields {
		f := &n.fields[i]
		rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "."), f.name)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		value := object[f.name]
		if value == nil && f.absent != "" { // it has its default
			value = exactValue([]byte(f.absent))
		}
		try(f.node.find(value, rest))
	}
	for key, value := range object {
		if n.leaf.key != nil {
			decoded, _ := decodeKey(n.leaf.key, key)
			key = fmt.Sprint(decoded.Interface()) // the validator prints what Go has
		}
		if rest, ok := strings.CutPrefix(path, "["+key+"]"); ok && n.rest != nil {
			try(n.rest.find(value, rest))
		}
	}
	return result
}

// values returns the node for values other than null.
func (n *node) values() *node {
	for n.orNull != nil {
		n = n.orNull
	}
	return n
}
