// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// No tool is led out of the session's directories by a path: the client is not even asked. What nobody can know beforehand is not in the
// table: links that are changed between the check and the client's use of a path.
func TestNoToolLeadsOutOfSession(t *testing.T) {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	for name, c := range map[string]struct {
		can      acp.ClientCapabilities
		fallback acpbridge.LocalFallback
	}{
		"editor": {can: acp.ClientCapabilities{FS: files, Terminal: true}}, "this machine": {fallback: everything},
		"both": {acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			env, d, editor, err := diskEnv(t, c.can, c.fallback)
			require.NoError(t, err)
			defer env.Close()
			root, outside := env.Workspace.Roots()[0], env.Outside
			for path, text := range map[string]string{outside + "/secret": "secret", outside + "/sub/secret": "secret", root + "/real/f": "harmless"} {
				require.NoError(t, workspacetest.OSDisk{}.WriteFile(path, []byte(text), 0o644))
			}
			for link, target := range workspacetest.Links(env.Workspace, outside) {
				require.NoError(t, workspacetest.OSDisk{}.Symlink(target, filepath.Join(root, link)))
			}
			d.Workspace = workspace.NewSession(env.Workspace)
			tools := acpbridge.Toolset[bare](acpbridge.WithPermissions(acpbridge.AllowAll))
			escapes := workspacetest.Escapes(env.Workspace, outside)
			require.GreaterOrEqual(t, len(escapes), 90)
			for tool, arguments := range map[string]func(path string) args{
				"read_file":    func(path string) args { return args{"path": path} },
				"write_file":   func(path string) args { return args{"path": path, "content": "overwritten"} },
				"edit_file":    func(path string) args { return editArgs(path, "secret", "overwritten") },
				"list_files":   func(path string) args { return args{"path": path, "include_ignored": true} },
				"search_files": func(path string) args { return args{"pattern": "secret", "path": path, "include_ignored": true} },
				"run_command": func(path string) args {
					return args{"command": env.Program[0], "args": []string{"print", "out"}, "cwd": path}
				},
			} {
				for _, e := range escapes {
					if e.Name == "" { // the working directory, or nothing
						continue
					}
					raw, err := json.Marshal(arguments(e.Name))
					require.NoError(t, err)
					res, err := toolsettest.Call(t.Context(), tools, &toolset.RunContext[bare]{Deps: d}, tool, string(raw))
					if err != nil {
						require.True(t, errors.As(err, new(*toolset.ValidationError)) || errors.As(err, new(*toolset.RetryError)), "%s %q: %v", tool, e.Name, err)
						continue
					}
					require.Equal(t, model.OutcomeFailed, res.Outcome, "%s %q: %s", tool, e.Name, res.Text)
				}
			}
			require.Empty(t, editor.Calls())
			for _, path := range []string{outside + "/secret", outside + "/sub/secret"} {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, "secret", string(data))
			}
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, entries, 2)
		})
	}
}
