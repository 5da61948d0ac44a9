// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/mcp"
	"github.com/ponte-go/ponte/toolset"
)

// serve runs the command "mcp" of a program that pays, and returns a client of it. end ends the program and returns its
// exit code.
func serve(t *testing.T, store session.Store, says model.Model, args ...string) (client *sdk.ClientSession, end func() int) {
	t.Helper()
	pay := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[any], struct{}) (string, error) { return "paid", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[any], struct{}) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay"}, nil
		}))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var said bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- app.Run(context.WithoutCancel(t.Context()), app.Config[any, string]{
			Name: "desk", About: "Answers questions about orders", Title: "Desk", Version: "1.2.3", Surfaces: []app.Surface{mcp.New(mcp.Options{})},
			Agent: agent.Must(agent.New(agent.Config[any, string]{Model: says, Tools: []*toolset.Tool[any]{pay}})),
			Store: func(context.Context, *app.Env) (session.Store, error) { return store, nil },
		}, app.Process{Args: append([]string{"mcp"}, args...), In: in, Out: out, Err: &said})
	}()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	return client, func() int {
		_ = client.Close()
		_ = toServer.Close()
		return <-code
	}
}

func call(t *testing.T, client *sdk.ClientSession, prompt, session string) (text, id string, failed bool) {
	t.Helper()
	res, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask", Arguments: map[string]string{"prompt": prompt, "session": session}})
	require.NoError(t, err)
	text = res.Content[0].(*sdk.TextContent).Text
	var a struct{ Answer, Session string }
	if json.Unmarshal([]byte(text), &a) == nil {
		return a.Answer, a.Session, res.IsError
	}
	return text, "", res.IsError
}

// Conversations go on in their sessions, and only in those of the directory.
func TestConversationsOverMCP(t *testing.T) {
	store, dir := new(session.Memory), t.TempDir()
	says := modeltest.Script(modeltest.SayText("One."), modeltest.SayText("Two."), modeltest.Fail(errors.New("secret of the provider")), modeltest.SayText("Four\x1b[2J."))
	client, end := serve(t, store, says, "-dir", dir)
	tools, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 1)
	require.Equal(t, [2]string{"ask", "Answers questions about orders"}, [2]string{tools.Tools[0].Name, tools.Tools[0].Description})
	require.Equal(t, [2]string{"desk", "1.2.3"}, [2]string{client.InitializeResult().ServerInfo.Name, client.InitializeResult().ServerInfo.Version})
	answer, id, failed := call(t, client, "first", "")
	require.Equal(t, [2]any{"One.", false}, [2]any{answer, failed})
	info, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, dir, info.Dir)
	answer, again, failed := call(t, client, "second", id)
	require.Equal(t, [3]any{"Two.", id, false}, [3]any{answer, again, failed})
	answer, _, failed = call(t, client, "third", id)
	require.True(t, failed)
	require.NotContains(t, answer, "secret")
	require.NotEmpty(t, answer)
	answer, other, failed := call(t, client, "fourth", "")
	require.Equal(t, [2]any{"Four⟨ESC⟩[2J.", false}, [2]any{answer, failed})
	require.NotEqual(t, id, other)

	elsewhere, err := store.Create(t.Context(), session.New{Dir: filepath.Join(dir, "sub")})
	require.NoError(t, err)
	for _, wrong := range []string{"none", elsewhere.ID} {
		answer, _, failed = call(t, client, "x", wrong)
		require.True(t, failed)
		require.Contains(t, answer, "there is no such session; leave it out to begin one")
	}
	held, err := store.Create(t.Context(), session.New{Dir: dir})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, held.ID, session.Claim{Holder: "an editor"})
	require.NoError(t, err)
	answer, _, failed = call(t, client, "x", held.ID)
	require.True(t, failed)
	require.Contains(t, answer, "The session is open in an editor. Close it there, and try again.")
	require.NoError(t, w.Close(t.Context()))
	require.Equal(t, 0, end())
}

// Without a store, the conversations of the last ten answers go on.
func TestConversationsWithoutAStore(t *testing.T) {
	client, end := serve(t, nil, modeltest.Auto(), "-no-store")
	var ids []string
	begin := func() {
		_, id, failed := call(t, client, "begin", "")
		require.False(t, failed)
		ids = append(ids, id)
	}
	goesOn := func(id string) bool {
		answer, again, failed := call(t, client, "go on", id)
		if failed {
			require.Contains(t, answer, "there is no such session")
			return false
		}
		require.Equal(t, id, again)
		return true
	}
	for range 10 {
		begin()
	}
	require.True(t, goesOn(ids[0]))
	begin()
	require.Equal(t, []bool{true, false, true, true}, []bool{goesOn(ids[0]), goesOn(ids[1]), goesOn(ids[3]), goesOn(ids[10])})
	require.Equal(t, 0, end())
}

// Nobody can be asked: what needs approval is refused, or all is allowed.
func TestApprovalsOverMCP(t *testing.T) {
	for _, yes := range []bool{false, true} {
		result := ""
		says := modeltest.Script(modeltest.Say(model.ToolCall("1", "pay", `{}`)), func(ctx context.Context, req *model.Request) (*model.Message, error) {
			for _, m := range req.Messages {
				for _, p := range m.Parts {
					if p.Kind == model.PartToolReturn {
						result = p.Text
					}
				}
			}
			return modeltest.SayText("Done.")(ctx, req)
		})
		args := []string{}
		if yes {
			args = append(args, "-yes")
		}
		client, end := serve(t, new(session.Memory), says, args...)
		answer, _, failed := call(t, client, "pay", "")
		require.Equal(t, [2]any{"Done.", false}, [2]any{answer, failed})
		if yes {
			require.Equal(t, "paid", result)
		} else {
			require.Contains(t, result, "Nobody can be asked here.")
		}
		require.Equal(t, 0, end())
	}
}

func TestMCPOverHTTP(t *testing.T) {
	run := func(ctx context.Context, out io.Writer, args ...string) (int, string) {
		var said bytes.Buffer
		code := app.Run(ctx, app.Config[any, string]{
			Name: "desk", Surfaces: []app.Surface{mcp.New(mcp.Options{Description: "Ask."})},
			Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Hello."))})),
			Store: func(context.Context, *app.Env) (session.Store, error) { return new(session.Memory), nil },
		}, app.Process{Args: append([]string{"mcp"}, args...), In: strings.NewReader(""), Out: out, Err: &said})
		return code, said.String()
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	code, said := run(t.Context(), io.Discard, "-addr", taken.Addr().String())
	require.Equal(t, 1, code)
	require.True(t, strings.HasPrefix(said, "desk: -addr: listen tcp "), said)
	code, said = run(t.Context(), io.Discard, "x")
	require.Equal(t, 2, code, said)
	code, said = run(t.Context(), io.Discard)
	require.Equal(t, 0, code, "the end of the input ends it: %s", said)

	ctx, cancel := context.WithCancel(t.Context())
	read, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code, _ := run(ctx, out, "-addr", "127.0.0.1:0")
		ended <- code
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	require.NoError(t, err)
	address := strings.TrimSpace(string(line[:n]))
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/mcp$`, address)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address}, nil)
	require.NoError(t, err)
	answer, _, failed := call(t, client, "hi", "")
	require.Equal(t, [2]any{"Hello.", false}, [2]any{answer, failed})
	require.NoError(t, client.Close())
	cancel()
	require.Equal(t, 0, <-ended)
}
