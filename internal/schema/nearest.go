// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/nearest"
)

// unknownField returns the message for an unknown field. It lists the known ones.
func unknownField(n *node, name string) string {
	if len(n.fields) == 0 {
		return "unknown field: no fields are allowed here"
	}
	const most = 20
	var known []string
	for i, f := range n.fields {
		if i == most {
			known = append(known, fmt.Sprintf("and %d others", len(n.fields)-most))
			break
		}
		known = append(known, f.name)
	}
	message := "unknown field"
	if best := nearestField(n, name); best != "" {
		message += fmt.Sprintf(" (did you mean %s?)", best)
	}
	return message + ": the fields are " + strings.Join(known, ", ")
}

// nearestField returns the name of the field that was probably meant, or "".
func nearestField(n *node, name string) string {
	return nearest.Of(name, func(yield func(string) bool) {
		for _, f := range n.fields {
			if !yield(f.name) {
				return
			}
		}
	})
}
