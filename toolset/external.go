// SPDX-License-Identifier: Apache-2.0

package toolset

import (
	"encoding/json"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// External returns a toolset of definitions without functions, for tools that run elsewhere: in a frontend, in another
// service, or by a person. A call leaves the run pending until its result is supplied. The arguments must be a JSON
// object. [ExternalTool] checks them further.
func External[D any](defs ...model.ToolDef) Toolset[D] {
	tools := make([]*Tool[D], len(defs))
	for i, def := range defs {
		def.Schema = slices.Clone(def.Schema)
		tools[i] = &Tool[D]{Def: def, Options: Options{External: true}, Decode: decodeObject}
	}
	return newStatic(nameAfter("external", tools), Listing[D]{Tools: tools})
}

// ExternalTool returns a tool that runs elsewhere and takes the arguments of a struct. They are
// checked like the arguments of [Func] before the call becomes pending. Both types are given
// explicitly:
//
//	toolset.ExternalTool[Deps, Question]("ask_user", "Ask the user a question.")
func ExternalTool[D, In any](name, description string, opts ...Option) *Tool[D] {
	t := newTool[D, In](name, description, opts)
	t.External = true
	return t
}

// decodeObject accepts any JSON object unchanged.
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
