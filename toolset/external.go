// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// External makes a toolset of definitions alone, for tools that somebody else runs: the frontend, another service, a
// person. A call of one leaves the run pending until the result is supplied. Arguments are checked to be a JSON object;
// [ExternalTool] checks more.
func External[D any](defs ...model.ToolDef) Toolset[D] {
	tools := make([]*Tool[D], len(defs))
	for i, def := range defs {
		def.Schema = slices.Clone(def.Schema)
		tools[i] = &Tool[D]{Def: def, Options: Options{External: true}, Decode: decodeObject}
	}
	return newStatic(nameAfter("external", tools), Listing[D]{Tools: tools})
}

// ExternalTool makes a tool that somebody else runs, with the arguments of a struct: they are checked like those of [Func]
// before anybody is asked. Both types are given explicitly:
//
//	toolset.ExternalTool[Deps, Question]("ask_user", "Ask the user a question.")
func ExternalTool[D, In any](name, description string, opts ...Option) *Tool[D] {
	t := newTool[D, In](name, description, opts)
	t.External = true
	return t
}

// decodeObject takes any JSON object as it is.
func decodeObject(raw []byte) (any, error) {
	args, err := decodeRaw(raw)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil || object == nil {
		return nil, Retry("the arguments must be a JSON object")
	}
	return args, nil
}
