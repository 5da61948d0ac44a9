// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the length of a tool's name that every provider accepts.
const maxName = 64

// maxYielded bounds the notices about tools that gave way to others.
const maxYielded = 100

// name gives each tool a name that models can use: the prefix, and the server's name for it with
// underscores for characters that models cannot use. If two tools would have the same name, those
// whose names were changed get a hash of the server's name for them, so the result does not depend
// on the order of the list. Long names end with such a hash too.
func (c *catalog) name(prefix string) {
	count := map[string]int{}
	for _, t := range c.tools {
		t.offered = safeName(prefix, t.Name)
		count[t.offered]++
	}
	taken := map[string]bool{}
	tools := c.tools[:0]
	for _, t := range c.tools {
		if plain := prefix + t.Name; count[t.offered] > 1 && t.offered != plain {
			other := t.offered
			t.offered = hashed(t.offered, t.Name)
			c.problem(t.Name, fmt.Errorf(
				"its name would be %q, which another tool has: it is offered as %q", other,
				t.offered,
			))
		}
		if taken[t.offered] { // somebody has made up a name that ends with a hash
			c.problem(t.Name, fmt.Errorf("another tool is offered as %q already", t.offered))
			delete(c.byName, t.Name)
			continue
		}
		taken[t.offered] = true
		tools = append(tools, t)
	}
	c.tools = tools
}

// safeName replaces what must not be in a tool's name.
func safeName(prefix, name string) string {
	var b strings.Builder
	if first := (prefix + name + "_")[0]; first == '-' || first >= '0' && first <= '9' {
		b.WriteByte('_') // Google wants a letter or an underscore
	}
	b.WriteString(prefix)
	for _, r := range head(name, 4*maxName) {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' {
			r = '_'
		}
		b.WriteRune(r)
	}
	if b.Len() > maxName || len(name) > 4*maxName {
		return hashed(b.String(), name)
	}
	return b.String()
}

// hashed shortens a name and adds a hash of the original.
func hashed(name, original string) string {
	sum := sha256.Sum256([]byte(original))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// yield returns the name of a tool that gives way to another one, and takes notice of it.
func (s *Server) yield(d *Definition, name string) string {
	other := hashed(name, d.Server+"\x00"+d.Name)
	key := d.Name + "\x00" + name
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, told := s.yielded[key]; told || len(s.yielded) >= maxYielded {
		return other
	}
	p := Problem{Tool: visible(d.Name, 200), Err: fmt.Errorf(
		"the name %q is taken or too long: it is offered as %q", name, other,
	)}
	if s.yielded == nil {
		s.yielded = map[string]Problem{}
	}
	s.yielded[key] = p
	s.logger.Warn("mcptoolset: problem with a tool", "server", s.config.Name, "tool", p.Tool, "error", p.Err)
	return other
}
