// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// method is one method of a role.
type method struct {
	name     string // in Go
	wire     string // on the wire
	params   string
	result   string // "" for a notification
	optional bool   // the result has no required field: a handler may return nil
}

// role is one side of the protocol.
type role struct {
	name    string // Agent, Client
	peer    string // the connection's type on the other side, which has the role's methods as stubs
	methods []method
}

// methodOrder lists each side's methods in the order in which the documentation speaks of them.
var methodOrder = map[string][]string{
	"agent": {
		"initialize", "authenticate", "logout", "session/new", "session/load", "session/resume", "session/list", "session/close",
		"session/delete", "session/prompt", "session/cancel", "session/set_mode", "session/set_config_option",
	},
	"client": {
		"session/request_permission", "session/update", "fs/read_text_file", "fs/write_text_file", "terminal/create",
		"terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release", "elicitation/create", "elicitation/complete",
	},
}

func (m *model) roles() ([]role, error) {
	out := []role{{name: "Agent", peer: "ClientConn"}, {name: "Client", peer: "AgentConn"}}
	for i := range out {
		side := strings.ToLower(out[i].name)
		for _, wire := range methodOrder[side] {
			x, err := m.method(side, wire)
			if err != nil {
				return nil, err
			}
			out[i].methods = append(out[i].methods, x)
		}
	}
	for _, d := range m.sorted() { // no method of the schema may be forgotten
		if d.method != "" && d.side != "protocol" && !slices.Contains(methodOrder[d.side], d.method) {
			return nil, fmt.Errorf("method %s of side %q has no place in methodOrder of internal/dev/acpgen/roles.go", d.method, d.side)
		}
	}
	return out, nil
}

func (m *model) method(side, wire string) (method, error) {
	x := method{wire: wire, name: methodNames[wire], optional: true}
	for _, d := range m.sorted() {
		if d.side != side || d.method != wire {
			continue
		}
		if strings.HasSuffix(d.name, "Response") {
			x.result = d.goName
			x.optional = d.union == nil && !slices.ContainsFunc(d.fields, func(f field) bool { return f.required })
			continue
		}
		x.params = d.goName
		if x.name == "" {
			x.name = strings.TrimSuffix(strings.TrimSuffix(d.goName, "Request"), "Notification")
		}
	}
	if x.params == "" {
		return x, fmt.Errorf("schema has no method %s of side %s", wire, side)
	}
	return x, nil
}
