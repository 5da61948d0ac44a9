// SPDX-License-Identifier: Apache-2.0

package agentcall

import (
	"slices"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Means reports whether a question may have the name of a tool for files, going by its effects.
func Means(tool string, effects []model.Effect) bool {
	var kinds []model.EffectKind
	switch tool {
	case workspace.ToolReadFile, workspace.ToolListFiles, workspace.ToolSearchFiles:
		kinds = []model.EffectKind{model.EffectRead}
	case workspace.ToolWriteFile, workspace.ToolEditFile:
		kinds = []model.EffectKind{model.EffectRead, model.EffectWrite}
	default:
		return true
	}
	return !slices.ContainsFunc(effects, func(e model.Effect) bool {
		return !slices.Contains(kinds, e.Kind)
	})
}
