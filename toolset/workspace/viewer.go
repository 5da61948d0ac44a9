// SPDX-License-Identifier: Apache-2.0

package workspace

// Viewer is implemented by workspaces with unsaved text that other workspaces may show too. A
// [Workspace] need not implement it: its unsaved text is then its own.
type Viewer interface {
	// View returns a comparable value. Workspaces with equal values and roots show the same text,
	// also unsaved text. Nil means that the text is the workspace's own.
	View() any
}
