package toolset

import (
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
)

// External makes a toolset of definitions alone, for tools that somebody else runs: the frontend, another service, a
// person. A call of one leaves the run pending until the result is supplied. Arguments are checked to be a JSON object;
// [ExternalTool] checks more.
func External[D any](defs ...model.ToolDef) Toolset[D] {
	tools := make([]*Tool[D], len(defs))
	for i, def := range defs {
		t := &Tool[D]{Def: def, Options: Options{External: true}, Decode: decodeObject}
		if err := checkSchema(def.Schema); err != nil {
			t.err = fmt.Errorf("tool %q: %w", def.Name, err)
		}
		tools[i] = t
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

// checkSchema checks that a schema is fit for a tool's arguments.
func checkSchema(schema json.RawMessage) error {
	var object struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		return fmt.Errorf("schema is not a JSON schema of an object: %w", err)
	}
	if object.Type != "object" {
		return fmt.Errorf("schema must have the type \"object\", not %q", object.Type)
	}
	return nil
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
