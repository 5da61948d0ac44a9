// SPDX-License-Identifier: Apache-2.0

// Package boxmeta has what an editor's side and an agent's side of ours tell each other about the
// sandbox of commands, in the _meta of the protocol's messages.
package boxmeta

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

const (
	sandbox = "ponte.sandbox" // of capabilities, and of terminal/create
	created = "ponte.created" // of how a command ended
)

// Meta is a _meta.
type Meta = map[string]json.RawMessage

// box is what a client says of its sandbox.
type box struct {
	Leave bool `json:"leave"`
}

// Announce returns the _meta of a client whose commands run in a sandbox, and may leave it.
func Announce(leave bool) Meta { return one(sandbox, box{leave}) }

// Announced returns what a client has announced.
func Announced(m Meta) (boxed, leave bool) {
	var b *box
	if json.Unmarshal(m[sandbox], &b) != nil || b == nil {
		return false, false
	}
	return true, b.Leave
}

// Ask returns the _meta of a command that asks for more than the sandbox gives; nil if it does not.
func Ask(how string) Meta {
	if how == "" {
		return nil
	}
	return one(sandbox, how)
}

// Asked returns what a command asks for.
func Asked(m Meta) string {
	var how string
	if json.Unmarshal(m[sandbox], &how) != nil {
		return ""
	}
	switch how {
	case model.SandboxNetwork, model.SandboxNone:
		return how
	}
	return ""
}

// Tell returns the _meta of a command that has created files that a sandbox protects; nil if it has
// not.
func Tell(paths []string) Meta {
	if len(paths) == 0 {
		return nil
	}
	return one(created, paths)
}

// Told returns what a command has created.
func Told(m Meta) (paths []string) {
	if json.Unmarshal(m[created], &paths) != nil {
		return nil
	}
	return paths
}

func one(key string, value any) Meta {
	data, err := json.Marshal(value)
	if err != nil { // only plain values get here
		return nil
	}
	return Meta{key: data}
}
