// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// linked sends a prompt with links to a session in dir, and returns what the model was given after the text.
func linked(t *testing.T, editor *acptest.Client, dir string, change func(*acpbridge.Config[bare, string]), uris ...string) []model.Part {
	t.Helper()
	m := modeltest.Script(modeltest.SayText("ok"))
	c := config(t, m)
	c.Host.Info = &model.Info{Media: []string{"image"}}
	c.LinkedFiles = 100
	if change != nil {
		change(&c)
	}
	conn := acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
		c.In, c.Out = r, w
		return acpbridge.Serve(ctx, c)
	})
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	blocks := []acp.ContentBlock{acp.TextBlock("see ")}
	for _, uri := range uris {
		blocks = append(blocks, acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: "f", URI: uri}})
	}
	_, err = conn.Prompt(t.Context(), &acp.PromptRequest{SessionID: id, Prompt: blocks})
	require.NoError(t, err)
	require.Empty(t, editor.Violations())
	parts := m.Requests()[0].Messages[0].Parts
	for _, uri := range uris {
		require.Contains(t, parts[0].Text, "[f]("+uri+")", "every link is mentioned")
	}
	return parts[1:]
}

func TestLinkedFilesAreReadThroughTheWorkspace(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{
		"/repo/my file.go": "package main\n", "/repo/b.txt": "one\ntwo\nthree\nfour", "/repo/big": strings.Repeat("x", 101), "/repo/bin": "a\x00b", "/etc/passwd": "root", "/repo/c.md": "# A heading",
	}})
	editor.Type("/repo/my file.go", "package unsaved\n")
	got := linked(t, editor, "/repo", nil,
		"file:///repo/my%20file.go", "file:///repo/b.txt#L2-3", "file:///repo/my%20file.go", "file:///repo/big", "file:///repo/bin",
		"file:///etc/passwd", "file:///repo/../etc/passwd", "file:///repo/%2e%2e/etc/passwd", "file:///repo/missing", "https://example.com/x", "FILE:///repo/b.txt#L4",
		"file:///repo/c.md#a%20heading", "file:///repo/c.md#/b.txt")
	require.Equal(t, []model.Part{
		model.User("Contents of file:///repo/my%20file.go:\n```\npackage unsaved\n```"),
		model.User("Contents of file:///repo/b.txt#L2-3:\n```\ntwo\nthree\n```"),
		model.User("Contents of FILE:///repo/b.txt#L4:\n```\nfour\n```"),
		model.User("Contents of file:///repo/c.md#a%20heading:\n```\n# A heading\n```"),
	}, got)
}

func TestLinkedFilesAreBoundedTogether(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": strings.Repeat("a", 60), "/repo/b": strings.Repeat("b", 41), "/repo/c": strings.Repeat("c", 40)}})
	got := linked(t, editor, "/repo", nil, "file:///repo/a", "file:///repo/b", "file:///repo/c")
	require.Len(t, got, 2)
	require.Contains(t, got[0].Text, "aaa")
	require.Contains(t, got[1].Text, "ccc", "what does not fit is left out, what fits behind it is not")
}

func TestLinkedFilesAreLeftToToolsByDefault(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "a"}})
	require.Empty(t, linked(t, editor, "/repo", func(c *acpbridge.Config[bare, string]) { c.LinkedFiles = 0 }, "file:///repo/a"))
	require.Empty(t, editor.Calls())
}

func TestLinkedImageIsReadFromTheDisk(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	png := []byte("\x89PNG\r\n\x1a\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.png"), png, 0o600))
	uri := "file://" + filepath.ToSlash(dir) + "/a.png"
	editor := acptest.New(acptest.Options{})
	got := linked(t, editor, dir, nil, uri)
	require.Equal(t, []model.Part{{Kind: model.PartMedia, MediaType: "image/png", Data: png, Name: "a.png"}}, got)
	require.Empty(t, editor.Calls(), "an editor has text only")
	require.Empty(t, linked(t, acptest.New(acptest.Options{}), dir, func(c *acpbridge.Config[bare, string]) { c.Host.Info = &model.Info{} }, uri), "the model takes no images")
	require.Empty(t, linked(t, acptest.New(acptest.Options{Files: map[string]string{"/away/a.png": "text"}}), "/away", nil, "file:///away/a.png"), "not on this machine")
}

func TestSessionSurvivesPromptsThatTheModelCannotTake(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script(modeltest.SayText("ok"))))
	answer := e.call(acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"what is "},{"type":"hologram"}]}`, id))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, answer)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "hi"))
}

func TestPromptCapabilitiesFollowTheModel(t *testing.T) {
	for _, c := range []struct {
		media []string
		want  string
	}{
		{nil, `{"image":false,"audio":false,"embeddedContext":true}`},
		{[]string{"image"}, `{"image":true,"audio":false,"embeddedContext":true}`},
		{[]string{"audio/wav", "application/pdf"}, `{"image":false,"audio":true,"embeddedContext":true}`},
	} {
		conf := config(t, modeltest.Script())
		conf.Host.Info = &model.Info{Media: c.media}
		var r struct {
			AgentCapabilities struct{ PromptCapabilities json.RawMessage }
		}
		require.NoError(t, json.Unmarshal(serve(t, conf).initialize(`{}`).Result, &r))
		require.JSONEq(t, c.want, string(r.AgentCapabilities.PromptCapabilities))
	}
}
