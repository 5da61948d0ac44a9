// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// fakeEditor is a client with the files of a fake of package workspacetest.
type fakeEditor struct {
	*acptest.Client
	editor *editortest.Editor
}

func (e *fakeEditor) ReadTextFile(_ context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	line, limit := uint32(0), uint32(0)
	if req.Line != nil {
		line = *req.Line
	}
	if req.Limit != nil {
		limit = *req.Limit
	}
	text, err := e.editor.ReadLines(req.Path, int(line), int(limit))
	switch {
	case errors.Is(err, editortest.ErrBeyondEnd):
		return nil, acp.Errorf(acp.CodeInvalidParams, "Invalid params").WithData(err.Error())
	case err != nil:
		return nil, acp.Errorf(acp.CodeInternal, "Internal error").WithData(err.Error())
	}
	return &acp.ReadTextFileResponse{Content: string([]rune(text))}, nil // the wire has UTF-8 only
}

func (e *fakeEditor) WriteTextFile(_ context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	if err := e.editor.Write(req.Path, req.Content); err != nil {
		return nil, acp.Errorf(acp.CodeInternal, "Internal error").WithData(err.Error())
	}
	return &acp.WriteTextFileResponse{}, nil
}

// truthEnv returns an environment with a fake editor on a directory of this machine.
func truthEnv(t *testing.T, can acp.FileSystemCapabilities, fallback acpbridge.LocalFallback) func(*editortest.Editor) (*workspacetest.Env, error) {
	return func(e *editortest.Editor) (*workspacetest.Env, error) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			return nil, err
		}
		e.Disk = workspacetest.OSDisk{}
		client := &fakeEditor{acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{FS: can}}), e}
		d := client.Deps(dir)
		d.Client = client
		w, err := acpbridge.NewWorkspace(d, fallback)
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: w, Disk: workspacetest.OSDisk{}, Outside: dir + "-outside", Close: func() {
			_ = w.Close()
			client.Close()
		}}, nil
	}
}

// What the model is told, what the person approves and what is on disk agree in every kind of editor, for every kind of file.
func TestThreeTruthsAgreeInEveryEditor(t *testing.T) {
	both := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	for i, e := range editortest.Editors() {
		fresh := func() *editortest.Editor { return editortest.Editors()[i] }
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			editortest.RunTruths(t, fresh, truthEnv(t, both, acpbridge.LocalFallback{}))
		})
		if e.Save == nil && !e.Lazy && (*everyEditor || e.Name == "faithful" || e.Name == "replaces what is not UTF-8") {
			t.Run(e.Name+", read only", func(t *testing.T) {
				t.Parallel()
				editortest.RunTruths(t, fresh, truthEnv(t, acp.FileSystemCapabilities{ReadTextFile: true}, acpbridge.LocalFallback{Files: true}))
			})
		}
	}
}

// elsewhereEnv returns an environment with a fake editor on another machine, which has directories
// that this one does not have.
func elsewhereEnv(root string, can acp.FileSystemCapabilities) func(*editortest.Editor) (*workspacetest.Env, error) {
	return func(e *editortest.Editor) (*workspacetest.Env, error) {
		there, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{root}})
		if err != nil {
			return nil, err
		}
		e.Disk = there.Disk()
		client := &fakeEditor{acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{FS: can}}), e}
		d := client.Deps(root)
		d.Client = client
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		if err != nil {
			return nil, err
		}
		return &workspacetest.Env{Workspace: w, Disk: e.Disk, Elsewhere: true, Close: client.Close}, nil
	}
}

// Of a file on another machine only its editor's text is known. The model is told of that, the
// person approves that, and the editor is given that; nothing is claimed of the disk, and what an
// editor may not show is not overwritten.
func TestThreeTruthsAgreeElsewhere(t *testing.T) {
	for i, e := range editortest.Editors() {
		fresh := func() *editortest.Editor { return editortest.Editors()[i] }
		for name, can := range map[string]acp.FileSystemCapabilities{
			"": {ReadTextFile: true, WriteTextFile: true}, ", read only": {ReadTextFile: true},
			", write only": {WriteTextFile: true},
		} {
			if name != "" && i%3 != 0 && !*everyEditor { // it is the same for most
				continue
			}
			t.Run(e.Name+name, func(t *testing.T) {
				t.Parallel()
				editortest.RunTruths(t, fresh, elsewhereEnv("/elsewhere/project", can))
			})
		}
		if i%3 != 1 && !*everyEditor {
			continue
		}
		t.Run(e.Name+", on Windows", func(t *testing.T) {
			t.Parallel()
			both := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
			editortest.RunTruths(t, fresh, elsewhereEnv(`C:\elsewhere\project`, both))
		})
	}
}

var codingSessions = flag.Int("coding-sessions", 24, "how many random coding sessions are played in editors")

// An agent works on files while somebody types, saves, formats and deletes in each kind of editor: after every step the files are what the test's
// model of them says.
func TestRandomCodingSessionsInEditors(t *testing.T) {
	both := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	newEnv := truthEnv(t, both, acpbridge.LocalFallback{Commands: true})
	n := *codingSessions
	editors := len(editortest.Editors())
	for i := range editors {
		t.Run(editortest.Editors()[i].Name, func(t *testing.T) {
			t.Parallel()
			for seed := i; seed < n; seed += editors {
				require.NoError(t, editortest.RunSession(t.Context(), uint64(seed), editortest.Editors()[i], newEnv))
			}
		})
	}
}
