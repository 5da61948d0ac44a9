// SPDX-License-Identifier: Apache-2.0

// Package serverfile has the forms of servers in configuration files, for the packages that connect
// to them and for the schema of such files.
package serverfile

// MCP is the entry of an MCP server.
type MCP struct {
	Type     string            `json:"type,omitempty" jsonschema:"enum=stdio,enum=http,enum=sse"`
	Command  string            `json:"command,omitempty" jsonschema:"description=The program. ${NAME} stands for a variable"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Cwd      string            `json:"cwd,omitempty"`
	URL      string            `json:"url,omitempty" jsonschema:"description=The address of a server that is not started"`
	Headers  map[string]string `json:"headers,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
}

// Language is the entry of a language server.
type Language struct {
	Command  []string          `json:"command,omitempty" jsonschema:"description=The program and its arguments"`
	Files    map[string]string `json:"files,omitempty" jsonschema:"description=Languages by the extension of files: .zig is zig"`
	Install  string            `json:"install,omitempty" jsonschema:"description=The command that installs it. It is never run"`
	Settings map[string]any    `json:"settings,omitempty"`
	Options  any               `json:"options,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
}
