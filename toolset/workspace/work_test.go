// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/memory"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// The same work gets the same answers on every backend.
func TestScriptedWork(t *testing.T) {
	r, _ := inMemory(t, memory.Config{
		Files: workspacetest.WorkFiles,
		Command: func(c workspace.Command) memory.Script {
			if c.Line != workspacetest.WorkCommand {
				return nil
			}
			return func(_ context.Context, sh *memory.Shell) int {
				out, code := workspacetest.WorkTest(func(name string) (string, error) {
					data, err := sh.Disk.ReadFile(sh.Dir + "/" + name)
					return string(data), err
				})
				fmt.Fprint(sh, out)
				return code
			}
		},
	})
	for i, step := range workspacetest.Work {
		told := r.call(step.Tool, step.Args)
		require.Equal(t, step.Told, strings.ReplaceAll(told, "/project", "ROOT"), "step %d: %s", i, step.Tool)
	}
	require.Len(t, r.asked, 6)
}
