// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// checkOutput compares the output of a run with those that workers have recorded. A worker of another version of the agent may have another type, and JSON leaves out
// what that type does not have, and has zero for what was never said.
func (e *runEngine) checkOutput(output any) {
	if len(e.outputs) == 0 {
		return
	}
	data, err := json.Marshal(output)
	if err == nil && slices.ContainsFunc(e.outputs, func(recorded json.RawMessage) bool { return sameForm(recorded, data) }) {
		return
	}
	panic(fmt.Sprintf("temporalengine: run %s was started by another version of its agent: its output does not have the fields of this worker's output type. "+
		"Let workers of that version finish the run, or give the new agent another Config.Name", e.run.ID))
}

// sameForm reports whether two JSON values have the same fields.
func sameForm(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && formed(x, y)
}

func formed(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		keys := slices.Sorted(maps.Keys(a))
		return ok && slices.Equal(keys, slices.Sorted(maps.Keys(b))) &&
			!slices.ContainsFunc(keys, func(k string) bool { return !formed(a[k], b[k]) })
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, formed)
	}
	return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
}
