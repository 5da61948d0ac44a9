// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// addServers adds the MCP servers to the parameters of a request that opens a session. A request
// that cannot be changed is passed on unchanged.
func (p *proxy) addServers(line []byte) []byte {
	if len(p.config.MCPServers) == 0 {
		return line
	}
	changed, err := acp.SetParam(line, "mcpServers", func(old json.RawMessage) (json.RawMessage, error) {
		var all []json.RawMessage
		if old != nil {
			if err := json.Unmarshal(old, &all); err != nil {
				return nil, fmt.Errorf("mcpServers is not a list")
			}
		}
		names := map[string]bool{}
		for _, server := range all {
			var named struct{ Name string }
			_ = json.Unmarshal(server, &named) // the agent will say what is wrong with it
			names[named.Name] = true
		}
		for _, server := range p.config.MCPServers {
			if data, ok := p.server(server, names); ok {
				all = append(all, data)
			}
		}
		if all == nil {
			all = []json.RawMessage{}
		}
		return join(all)
	})
	if err != nil {
		p.problem(fmt.Errorf("acpproxy: the MCP servers are not added to the session: %w", err))
		return line
	}
	return changed
}

// join writes a list. The elements that were there keep their bytes.
func join(all []json.RawMessage) (json.RawMessage, error) {
	out := []byte{'['}
	for i, e := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']'), nil
}

// server returns the JSON of a server under a name that is free. ok is false if the agent cannot
// use it.
func (p *proxy) server(s acp.MCPServer, names map[string]bool) (data json.RawMessage, ok bool) {
	p.mu.Lock()
	overHTTP := p.overHTTP
	p.mu.Unlock()
	rename := func(name *string) {
		base := *name
		for i := 2; names[*name]; i++ {
			*name = fmt.Sprintf("%s-%d", base, i)
		}
		names[*name] = true
	}
	switch {
	case s.Stdio != nil:
		stdio := *s.Stdio
		rename(&stdio.Name)
		s.Stdio = &stdio
	case s.HTTP != nil && !overHTTP:
		p.problem(fmt.Errorf("acpproxy: the MCP server %q is left out: the agent does not support servers over HTTP", s.HTTP.Name))
		return nil, false
	case s.HTTP != nil:
		http := *s.HTTP
		rename(&http.Name)
		s.HTTP = &http
	default:
		p.problem(fmt.Errorf("acpproxy: an MCP server is left out: it is neither started nor reached over HTTP"))
		return nil, false
	}
	data, err := acp.Marshal(&s)
	if err != nil {
		p.problem(fmt.Errorf("acpproxy: an MCP server is left out: %w", err))
		return nil, false
	}
	return data, true
}
