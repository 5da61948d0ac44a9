// SPDX-License-Identifier: Apache-2.0

// Package agentcall reads what other agents say of their tool calls.
package agentcall

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// Command returns the command in the arguments of a tool call, in the form that the agents of the registry have: a line or a list in
// "command", with or without "args", "cwd" and "env". Arguments that say anything else about how it runs are not understood.
func Command(input json.RawMessage) (toolset.CommandLine, bool) {
	var in struct {
		Command json.RawMessage `json:"command"`
		Args    []string        `json:"args"`
		Cwd     string          `json:"cwd"`
		Env     json.RawMessage `json:"env"`
	}
	if json.Unmarshal(input, &in) != nil || in.Command == nil {
		return toolset.CommandLine{}, false
	}
	c := toolset.CommandLine{Dir: in.Cwd}
	var line string
	switch {
	case json.Unmarshal(in.Command, &line) == nil && line != "":
		if len(in.Args) > 0 {
			c.Args = append([]string{line}, in.Args...)
		} else {
			c.Line = line
		}
	case json.Unmarshal(in.Command, &c.Args) == nil && len(c.Args) > 0:
		c.Args = append(c.Args, in.Args...)
	default:
		return toolset.CommandLine{}, false
	}
	env := map[string]string{}
	if in.Env != nil && json.Unmarshal(in.Env, &env) != nil {
		return toolset.CommandLine{}, false
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.Env = append(c.Env, name+"="+env[name])
	}
	return c, true
}
