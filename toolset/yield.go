// SPDX-License-Identifier: Apache-2.0

package toolset

// Reserved returns a toolset without tools. In a [Combine] with it, tools with a [Tool.Yield] do not have these names.
func Reserved[D any](names ...string) Toolset[D] {
	return &static[D]{name: "reserved", reserved: names}
}

// settleNames returns tools with distinct names. Tools that can give way do so if another tool has
// their name, all of them if there are several. So what a name means does not depend on which tool
// is known first.
func settleNames[D any](tools []*Tool[D], reserved []string) []*Tool[D] {
	yields := false
	for _, t := range tools {
		yields = yields || t.Yield != nil
	}
	if !yields {
		return tools
	}
	taken := make(map[string]int, len(tools))
	for _, name := range reserved {
		taken[name]++
	}
	for _, t := range tools {
		taken[t.Def.Name]++
	}
	settled := make([]*Tool[D], 0, len(tools))
	for _, t := range tools {
		if t.Yield != nil && (taken[t.Def.Name] > 1 || len(t.Def.Name) > maxName) {
			name := t.Yield(t.Def.Name)
			if name == "" || taken[name] > 0 {
				continue
			}
			taken[name]++
			renamed := *t
			renameTool(&renamed, t, name)
			t = &renamed
		}
		settled = append(settled, t)
	}
	return settled
}
