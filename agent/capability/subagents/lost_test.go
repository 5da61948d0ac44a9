// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func definition(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nx" }

func definitions(t *testing.T, files map[string]string) *workspace.Memory {
	t.Helper()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: files})
	require.NoError(t, err)
	return ws
}

func TestLostWorkspaceIsAnErrorOfLoad(t *testing.T) {
	ws := definitions(t, map[string]string{"d/a.md": definition("a"), "d/b.md": definition("b")})
	for n := range failing.Operations {
		plan := failing.At(n, workspace.ErrLost)
		all, wrong, err := subagents.Load(t.Context(), failing.Workspace{Workspace: ws, Plan: plan}, "d")
		if !plan.Failed() {
			require.NoError(t, err)
			require.Len(t, all, 2)
			require.Equal(t, 4, n, "two files are listed and read")
			break
		}
		require.ErrorIs(t, err, workspace.ErrLost, plan.Operation())
		require.ErrorContains(t, err, "subagents: ")
		require.Empty(t, all)
		require.Empty(t, wrong)
	}
}

// One definition that cannot be read does not hide the others. A directory that cannot be listed does.
func TestDefinitionThatCannotBeReadIsReported(t *testing.T) {
	boom := errors.New("boom")
	ws := definitions(t, map[string]string{"d/a.md": definition("a"), "d/b.md": definition("b")})
	for n := range 4 {
		plan := failing.At(n, boom)
		all, wrong, err := subagents.Load(t.Context(), failing.Workspace{Workspace: ws, Plan: plan}, "d")
		if strings.HasPrefix(plan.Operation(), "walk") {
			require.ErrorIs(t, err, boom)
			require.ErrorContains(t, err, `subagents: list "d"`)
			continue
		}
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Len(t, wrong, 1)
		require.Equal(t, plan.Operation(), "read "+wrong[0].Path)
		require.ErrorIs(t, wrong[0].Err, boom)
	}
}

func TestDefinitionsAreBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 205 {
		files[fmt.Sprintf("d/%03d.md", i)] = definition(fmt.Sprint("a", i))
	}
	all, wrong, err := subagents.Load(t.Context(), definitions(t, files), "d")
	require.NoError(t, err)
	require.Empty(t, wrong)
	require.Len(t, all, 200)

	fits := definition("fits") + strings.Repeat("x", 128<<10-len(definition("fits")))
	all, wrong, err = subagents.Load(t.Context(), definitions(t, map[string]string{"d/a.md": fits, "d/b.md": fits + "x"}), "d")
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Len(t, wrong, 1)

	description := strings.Repeat("ü", 1024)
	d, err := subagents.Parse("---\nname: " + strings.Repeat("a", 64) + "\ndescription: ' " + description + " '\n---\nx")
	require.NoError(t, err, "the longest that is allowed")
	require.Equal(t, description, d.Description)
}

// bare is a workspace with few features.
type bare struct {
	*workspace.Memory
	features workspace.Features
}

func (b bare) Features() workspace.Features { return b.features }

func TestWorkspaceThatCannotReadAndListHasNoDefinitions(t *testing.T) {
	ws := definitions(t, map[string]string{"d/a.md": definition("a")})
	for features, want := range map[workspace.Features]int{
		{}: 0, {Read: true}: 0, {Saved: true}: 0, {Walk: true}: 0, {Read: true, Walk: true}: 1, {Saved: true, Walk: true}: 1,
	} {
		all, wrong, err := subagents.Load(t.Context(), bare{ws, features}, "d")
		require.NoError(t, err)
		require.Empty(t, wrong)
		require.Len(t, all, want, "%+v", features)
	}
	all, _, err := subagents.Load(t.Context(), nil, "d")
	require.NoError(t, err)
	require.Empty(t, all)
}
