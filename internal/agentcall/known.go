// SPDX-License-Identifier: Apache-2.0

package agentcall

import (
	"encoding/json"
	"slices"
	"strings"
)

// Names of arguments that name what is looked at, and of arguments that describe how a file is
// changed, without regard to case, "_" and "-".
var (
	looking = strings.Fields(`path paths file files filepath filename absolutepath abspath
		relativepath uri url dir directory cwd workdir root pattern query regex regexp glob globs
		include exclude literal text offset limit line lines linecount startline endline start end
		head tail context before after depth maxdepth ignorecase casesensitive caseinsensitive
		multiline outputmode type recursive includeignored maxresults title description thought
		topic prompt`)
	changing = strings.Fields(`content contents newtext oldtext newstring oldstring newstr oldstr
		edits changes replaceall insertline inserttext createifmissing fileuri autoapproved patch
		diff unifieddiff`)
)

// Known reports whether the arguments of a call only name what is looked at, or,
// with changing, how the files are changed whose changes are shown.
func Known(input json.RawMessage, changes bool) bool {
	if len(input) == 0 || string(input) == "null" {
		return true
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return false
	}
	for name := range in {
		name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
		known := slices.Contains(looking, name) || changes && slices.Contains(changing, name)
		if !known {
			return false
		}
	}
	return true
}
