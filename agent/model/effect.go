// SPDX-License-Identifier: Apache-2.0

package model

// Effect is one thing that a tool call does to the world outside of the run. The effects of a call
// are what rules decide about. What cannot be known before the call runs is an effect of the kind
// [EffectUnknown], so a call without effects has not been described.
type Effect struct {
	// Kind determines which of the other fields are set.
	Kind EffectKind `json:"kind"`
	// Path is the file or directory that is read or written. It is absolute and clean, unless the
	// directory that it is relative to is unknown. It ends with a slash if all files below a
	// directory are read or written.
	Path string `json:"path,omitempty"`
	// Argv is the program that runs, with its arguments. Of an unknown effect it has the known
	// words of the command.
	Argv []string `json:"argv,omitempty"`
	// Dir is the directory that the program runs in. It is empty if it is unknown.
	Dir string `json:"dir,omitempty"`
	// Env lists what is added to the program's environment, each as "NAME=value".
	Env []string `json:"env,omitempty"`
	// Host is the host that is reached, without a port.
	Host string `json:"host,omitempty"`
	// Server is the MCP server whose tool is called.
	Server string `json:"server,omitempty"`
	// Amount is how much money is spent, in nano-units of the account's currency.
	Amount int64 `json:"amount,omitempty"`
}

// EffectKind is the kind of an [Effect].
type EffectKind string

const (
	// EffectRead reads Path.
	EffectRead EffectKind = "read"
	// EffectWrite creates, changes, moves or deletes Path.
	EffectWrite EffectKind = "write"
	// EffectRun runs the program Argv in Dir, with Env.
	EffectRun EffectKind = "run"
	// EffectHost reaches Host.
	EffectHost EffectKind = "host"
	// EffectServer calls a tool of Server.
	EffectServer EffectKind = "server"
	// EffectMoney spends Amount.
	EffectMoney EffectKind = "money"
	// EffectSandbox says that all other effects of the call, unknown ones too, happen in a sandbox:
	// it writes in the session's directories only, and not what other programs execute or obey,
	// reads no keys, and reaches only the hosts that are stated.
	EffectSandbox EffectKind = "sandbox"
	// EffectOutside leaves the sandbox that other calls of the session run in.
	EffectOutside EffectKind = "outside"
	// EffectUnknown is whatever cannot be known before the call runs.
	EffectUnknown EffectKind = "unknown"
)
