// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 Servers still use what the newest version of the protocol deprecates.

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// returning calls a tool that returns a result, as a model that reads text and images.
func returning(t *testing.T, res *mcp.CallToolResult, change ...func(*mcptoolset.Config)) toolset.Result {
	t.Helper()
	f := newFake(nil)
	f.tool("get", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
	got, err := call(t, serve(t, f, change...), nil, "r", "s_get", `{}`)
	require.NoError(t, err)
	return got
}

func TestResultContent(t *testing.T) {
	size := int64(5)
	res := returning(t, &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "one"},
		&mcp.TextContent{Text: "two"},
		&mcp.ImageContent{MIMEType: "image/PNG; x=y", Data: []byte("png")},
		&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("wav!")},
		&mcp.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Description: "The letter.", Size: &size},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain", Text: "beta"}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", MIMEType: "application/zip", Blob: []byte("zip")}},
		&mcp.ImageContent{MIMEType: "image/png\r\nX-Evil: 1", Data: []byte("png")},
	}})
	require.Equal(t, strings.Join([]string{
		"one", "two",
		"[image (image/png, 3 bytes) follows]",
		"[audio (audio/wav, 4 bytes) left out: this model cannot read it]",
		"[resource file:///a a (text/plain)] The letter.",
		"[resource file:///b (text/plain)]\nbeta",
		"[file (application/zip, 3 bytes) file:///c left out: this model cannot read it]",
		"[image (application/octet-stream, 3 bytes) left out: this model cannot read it]",
	}, "\n"), res.Text)
	require.Len(t, res.Content, 1)
	require.Equal(t, "image/png", res.Content[0].MediaType)
	require.Equal(t, []byte("png"), res.Content[0].Data)
	require.Nil(t, res.Meta)
}

func TestStructuredContent(t *testing.T) {
	structured := map[string]any{"n": 1, "s": "<&>"}
	res := returning(t, &mcp.CallToolResult{StructuredContent: structured})
	require.JSONEq(t, `{"n":1,"s":"<&>"}`, res.Text)
	require.Contains(t, res.Text, "<&>")
	var meta mcptoolset.Meta
	require.NoError(t, json.Unmarshal(res.Meta, &meta))
	require.Equal(t, "s", meta.Server)
	require.Equal(t, "get", meta.Tool)
	require.JSONEq(t, `{"n":1,"s":"<&>"}`, string(meta.Structured))

	// A text that says the same is shown once, another one is shown as well.
	res = returning(t, &mcp.CallToolResult{StructuredContent: structured, Content: []mcp.Content{&mcp.TextContent{Text: `{ "s": "<&>", "n": 1 }`}}})
	require.Equal(t, `{ "s": "<&>", "n": 1 }`, res.Text)
	res = returning(t, &mcp.CallToolResult{StructuredContent: structured, Content: []mcp.Content{&mcp.TextContent{Text: "Found one."}}})
	require.Equal(t, "Found one.\n"+`{"n":1,"s":"<&>"}`, res.Text)
}

func TestEmptyResult(t *testing.T) {
	require.Equal(t, "The tool returned nothing.", returning(t, &mcp.CallToolResult{}).Text)
}

func TestResultIsLimited(t *testing.T) {
	small := func(c *mcptoolset.Config) { c.Limits.Result, c.Limits.Media = 100, 10 }
	res := returning(t, say(strings.Repeat("é", 1000)), small)
	require.Equal(t, strings.Repeat("é", 50)+"\n[The rest is left out: 100 of 2000 bytes are shown.]", res.Text)

	res = returning(t, &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 6)},
		&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 6)},
	}}, small)
	require.Len(t, res.Content, 1, "the limit is for all media of a result")
	require.Contains(t, res.Text, "too large")

	res = returning(t, &mcp.CallToolResult{StructuredContent: map[string]any{"x": strings.Repeat("x", 200)}}, small)
	var meta mcptoolset.Meta
	require.NoError(t, json.Unmarshal(res.Meta, &meta))
	require.Nil(t, meta.Structured)
}

func TestProgressIsEmitted(t *testing.T) {
	eachVersion(t, func(t *testing.T, change func(*mcptoolset.Config)) {
		f := newFake(nil)
		f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := 1; i <= 3; i++ {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: "step\u202e",
				}); err != nil {
					return nil, err
				}
			}
			return say("done"), nil
		})
		host := &toolsettest.Host{}
		_, err := call(t, serve(t, f, change), host, "r", "s_work", `{}`)
		require.NoError(t, err)
		events := host.Events()
		require.NotEmpty(t, events)
		require.Equal(t, mcptoolset.Progress{Server: "s", Tool: "work", Progress: 3, Total: 3, Message: `step\u202e`}, events[len(events)-1], "the last report is never lost")
	})
}

// slow is a host whose observer takes its time.
type slow struct {
	toolsettest.Host
	begin, go_ chan struct{}
}

func (s *slow) Emit(c toolset.Call, v any) {
	select {
	case s.begin <- struct{}{}:
		<-s.go_
	default:
	}
	s.Host.Emit(c, v)
}

func TestSlowObserverDoesNotPileUpProgress(t *testing.T) {
	const reports = 1000
	f := newFake(nil)
	s := &slow{begin: make(chan struct{}, 1), go_: make(chan struct{})}
	f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= reports; i++ {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i)}); err != nil {
				return nil, err
			}
			if i == 1 {
				<-s.begin
				s.begin <- struct{}{}
			}
		}
		close(s.go_)
		return say("done"), nil
	})
	_, err := call(t, serve(t, f), s, "r", "s_work", `{}`)
	require.NoError(t, err)
	events := s.Events()
	require.Less(t, len(events), reports)
	require.Equal(t, float64(reports), events[len(events)-1].(mcptoolset.Progress).Progress)
}

func TestLogMessagesAreEmitted(t *testing.T) {
	f := newFake(nil)
	f.tool("work", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "db", Data: map[string]any{"a": "\u200b"}})
		return say("done"), err
	})
	host := &toolsettest.Host{}
	_, err := call(t, serve(t, f, legacy, func(c *mcptoolset.Config) { c.LogLevel = "debug" }), host, "r", "s_work", `{}`)
	require.NoError(t, err)
	require.Equal(t, []any{mcptoolset.Log{Server: "s", Level: "warning", Logger: "db", Message: `{"a":"\u200b"}`}}, host.Events())
}
