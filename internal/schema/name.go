// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"strings"
)

// defName returns a unique definition name for a recursive type.
func (b *builder) defName(t reflect.Type) string {
	base := toolName(t)
	name := base
	for n := 2; b.defs[name] != nil || b.isNamed(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// isNamed reports whether a definition has a name already.
func (b *builder) isNamed(name string) bool {
	for _, taken := range b.names {
		if taken == name {
			return true
		}
	}
	return false
}

// toolName returns the name of t with only the characters that providers accept. Type arguments are
// appended without their package paths: page[example.org/shop.Item] becomes page_Item.
func toolName(t reflect.Type) string {
	base, args, _ := strings.Cut(t.Name(), "[")
	words := []string{plainASCII(base)}
	for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune("[], *{};", r) }) {
		words = append(words, plainASCII(arg[strings.LastIndexAny(arg, "./")+1:]))
	}
	return strings.Join(words, "_")
}

func plainASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, s)
}
