// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// forbidsHost compares hosts. Who reads a name that is written in an unusual way may take it for any.
func (r *compiled) forbidsHost(c *call) fit {
	switch {
	case slices.ContainsFunc(c.hosts, func(h string) bool { return hostFits(r.Host, h) }):
		return yes
	case slices.Contains(c.hosts, "*"), r.Host != "*" && c.namesHost(r.Host),
		slices.ContainsFunc(c.hosts, func(h string) bool { return isUnusual(h) || hostSeems(r.Host, h) }):
		return perhaps
	}
	return no
}

// isUnusual reports whether programs may take a host for another one, because they decode it, expand
// it, or make ASCII of it.
func isUnusual(host string) bool {
	return strings.ContainsFunc(host, func(r rune) bool {
		return r >= 0x80 && string(r) != command.Computed || strings.ContainsRune("%{}[]\\", r)
	}) && address(host) == ""
}

// address returns the address that a host is in one of its forms, such as 10.1 and 0xa000001 for
// 10.0.0.1, in the usual form. It is "" for names.
func address(host string) string {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return a.Unmap().String()
	}
	parts := strings.Split(host, ".")
	var all uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		switch last := i == len(parts)-1; {
		case err != nil || len(parts) > 4 || !last && n > 0xff:
			return ""
		case last:
			all |= n
		default:
			all |= n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}).String()
}

// namesHost reports whether a word of a command with unknown effects may be a host.
func (c *call) namesHost(pattern string) bool {
	name, below := strings.CutPrefix(strings.ToLower(strings.TrimSuffix(pattern, ".")), "*.")
	number := address(name)
	same := func(s string) bool { return number != "" && address(s) == number }
	for _, e := range c.programs {
		if e.Kind != model.EffectUnknown {
			continue
		}
		for _, w := range e.Argv {
			w = strings.ToLower(w)
			if slices.ContainsFunc(strings.FieldsFunc(w, notInAddress), same) {
				return true
			}
			for rest := w; ; {
				i := strings.Index(rest, name)
				if i < 0 {
					break
				}
				before, after := rest[:i], rest[i+len(name):]
				begins := i == 0 || below && before[i-1] == '.' || !inHost(before[i-1])
				ends := after == "" || !inHost(after[0]) ||
					after[0] == '.' && (len(after) == 1 || !inHost(after[1]))
				if ends && (begins || strings.HasPrefix(w, "-")) {
					return true
				}
				rest = after
			}
		}
	}
	return false
}

// notInAddress reports whether no form of an address has a character, in lower case.
func notInAddress(r rune) bool { return !strings.ContainsRune("0123456789abcdefx.:", r) }

// inHost reports whether a name of a host may have a character, in lower case.
func inHost(b byte) bool {
	return b == '-' || b == '.' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z'
}

// hostFits compares a host with a pattern, in which a leading "*." matches the host itself and all
// below it.
func hostFits(pattern, host string) bool {
	pattern, host = strings.ToLower(strings.TrimSuffix(pattern, ".")), strings.TrimSuffix(host, ".")
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return host == below || strings.HasSuffix(host, "."+below)
	}
	return pattern == host || pattern == "*" || address(pattern) != "" && address(pattern) == address(host)
}
