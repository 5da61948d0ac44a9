// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"testing"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// The test of a backend calls Run with a function that makes a fresh workspace.
func ExampleRun() {
	_ = func(t *testing.T) {
		workspacetest.Run(t, func() (*workspacetest.Env, error) {
			w, err := workspace.NewMemory(workspace.MemoryConfig{})
			if err != nil {
				return nil, err
			}
			return &workspacetest.Env{Workspace: w, Disk: w.Disk(), Outside: "/outside"}, w.Disk().Mkdir("/outside")
		})
	}
}
