// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"testing"

	"github.com/ponte-go/ponte/toolset/workspace/memory"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestThreeTruthsAgreeInMemory(t *testing.T) {
	workspacetest.RunTruths(t, nil, func(*workspacetest.Editor) (*workspacetest.Env, error) {
		ws, err := memory.New(memory.Config{})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: ws, Disk: ws.Disk()}, nil
	})
}
