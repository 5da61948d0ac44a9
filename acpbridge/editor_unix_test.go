// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// diskEditor is an editor with the files of this machine.
type diskEditor struct {
	*acptest.Client
}

func (e *diskEditor) ReadTextFile(ctx context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	data, err := os.ReadFile(req.Path)
	if err != nil {
		return nil, acp.Errorf(acp.CodeInternal, "Internal error").WithData(err.Error())
	}
	e.SetFile(req.Path, string(data))
	return e.Client.ReadTextFile(ctx, req)
}

func (e *diskEditor) WriteTextFile(ctx context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	resp, err := e.Client.WriteTextFile(ctx, req)
	if err != nil {
		return nil, err
	}
	path := req.Path
	if target, err := os.Readlink(path); err == nil { // to a file that may not exist
		path = filepath.Join(filepath.Dir(path), target)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode()
	}
	saved := path + "~saving"
	if err := os.WriteFile(saved, []byte(req.Content), mode); err != nil {
		return nil, err
	}
	return resp, os.Rename(saved, path)
}

func (e *diskEditor) CreateTerminal(ctx context.Context, req *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	if req.Command == "no-such-program-anywhere" {
		return nil, acp.Errorf(acp.CodeInternal, "No such file or directory (os error 2)")
	}
	return e.Client.CreateTerminal(ctx, req)
}

// editorEnv returns environments with an editor that has some capabilities.
func editorEnv(t *testing.T, capabilities acp.ClientCapabilities, fallback acpbridge.LocalFallback) func() (*workspacetest.Env, error) {
	return func() (*workspacetest.Env, error) {
		env, _, _, err := diskEnv(t, capabilities, fallback)
		return env, err
	}
}

// diskEnv returns an environment with an editor that has some capabilities, and two roots.
func diskEnv(t *testing.T, capabilities acp.ClientCapabilities, fallback acpbridge.LocalFallback) (*workspacetest.Env, deps.ACPDeps, *diskEditor, error) {
	fail := func(err error) (*workspacetest.Env, deps.ACPDeps, *diskEditor, error) {
		return nil, deps.ACPDeps{}, nil, err
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		return fail(err)
	}
	project, more, outside := filepath.Join(base, "project"), filepath.Join(base, "more"), filepath.Join(base, "outside")
	for _, dir := range []string{project, more, outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fail(err)
		}
	}
	editor := &diskEditor{acptest.New(acptest.Options{Capabilities: &capabilities, Programs: map[string]acptest.Program{"program": func(ctx context.Context, p *acptest.Process) acptest.Exit {
		return acptest.Exit{Code: uint32(workspacetest.Program(ctx, workspacetest.System{
			In: strings.NewReader(""), Out: p, Err: p,
			Getenv: func(name string) string {
				for _, v := range p.Request.Env {
					if v.Name == name {
						return v.Value
					}
				}
				return ""
			},
			ReadFile: func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(*p.Request.Cwd, name)) },
		}, p.Request.Args))}
	}}})}
	d := editor.Deps(project)
	d.Client, d.Session.AdditionalDirectories = editor, []string{more}
	w, err := acpbridge.NewWorkspace(d, fallback)
	if err != nil {
		return fail(err)
	}
	program := []string{"program"}
	if !capabilities.Terminal {
		if program, err = workspacetest.Self(); err != nil {
			return fail(err)
		}
	}
	return &workspacetest.Env{
		Workspace: w, Disk: workspacetest.OSDisk{}, Outside: outside, Program: program, Unheld: true, Close: func() {
			_ = w.Close()
			editor.Close()
		},
	}, d, editor, nil
}

// The workspace of an editor keeps the contract, whatever the editor can do and whatever this machine does in its place.
var everyEditor = flag.Bool("every-editor", false, "test the workspace of an editor with everything that editors and fallbacks can do together")

// representative editors have files and commands of their own, and those of this machine.
var representative = []string{"all", "read only and this machine"}

func TestEditorWorkspaceConformance(t *testing.T) {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	for name, can := range map[string]acp.ClientCapabilities{
		"all": {FS: files, Terminal: true}, "files": {FS: files}, "terminal": {Terminal: true}, "read only": {FS: acp.FileSystemCapabilities{ReadTextFile: true}},
		"write only": {FS: acp.FileSystemCapabilities{WriteTextFile: true}}, "nothing": {},
	} {
		for _, fallback := range []acpbridge.LocalFallback{{}, {Files: true, Commands: true}} {
			title := name
			if fallback.Files {
				if name == "all" {
					continue
				}
				title += " and this machine"
			}
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				if !*everyEditor && !slices.Contains(representative, title) {
					t.Skip("for the deep tier: -every-editor")
				}
				workspacetest.Run(t, editorEnv(t, can, fallback))
				workspacetest.RunTools(t, editorEnv(t, can, fallback))
			})
		}
	}
}

func TestEditorWorkspaceWithoutEditorHasNoFeatures(t *testing.T) {
	w, err := acpbridge.NewWorkspace(deps.ACPDeps{}, acpbridge.LocalFallback{Files: true, Commands: true})
	require.NoError(t, err)
	require.Equal(t, workspace.Features{}, w.Features())
	_, err = w.Read(t.Context(), "a", workspace.Range{})
	require.Error(t, err)
	require.NoError(t, w.Close())
}

// The directories of a session are those that they were when it was opened.
func TestDirectoryOfASessionThatIsExchangedForALinkLeadsNowhere(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"inside", "outside", "plain"} {
		require.NoError(t, os.Mkdir(filepath.Join(base, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, name, "a"), []byte(name), 0o644))
	}
	link, plain := filepath.Join(base, "link"), filepath.Join(base, "plain")
	require.NoError(t, os.Symlink("inside", link))
	client := &diskEditor{acptest.New(acptest.Options{})}
	defer client.Close()
	d := client.Deps(link)
	d.Client, d.Session.AdditionalDirectories = client, []string{plain}
	w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer w.Close()
	for _, root := range []string{link, plain} {
		_, err = w.Read(t.Context(), filepath.Join(root, "a"), workspace.Range{})
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(root))
		require.NoError(t, os.Symlink("outside", root))
		for _, name := range []string{filepath.Join(root, "a"), filepath.Join(base, "outside", "a")} {
			_, err = w.Read(t.Context(), name, workspace.Range{})
			require.ErrorIs(t, err, workspace.ErrOutside, name)
			_, err = w.Write(t.Context(), name, []byte("x"), workspace.AnyVersion)
			require.ErrorIs(t, err, workspace.ErrOutside, name)
		}
	}
}
