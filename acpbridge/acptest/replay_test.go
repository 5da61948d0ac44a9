// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

// scribe is an agent that asks, writes a file and says how that went. Its ids are never the same.
type scribe struct {
	acp.UnimplementedAgent
	client *acp.AgentConn
	n      int
	chunks int
}

func (s *scribe) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, nil
}

func (s *scribe) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: acp.SessionID(fmt.Sprint("session-", s.n))}, nil
}

func (s *scribe) Prompt(ctx context.Context, r *acp.PromptRequest) (*acp.PromptResponse, error) {
	acp.Async(ctx)
	say := func(text string) {
		for part := range strings.SplitSeq(text, "|") {
			_ = s.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: r.SessionID, Update: acp.TextChunk(part)})
		}
	}
	if strings.Contains(r.Prompt[0].Text.Text, "wait") {
		say("waiting" + strings.Repeat("|.", s.chunks))
		<-ctx.Done()
		return nil, ctx.Err()
	}
	res, err := s.client.RequestPermission(ctx, &acp.RequestPermissionRequest{
		SessionID: r.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(fmt.Sprint("call-", s.n))},
		Options: []acp.PermissionOption{{OptionID: "y", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}},
	})
	if err != nil {
		return nil, err
	}
	if res.Outcome.Selected != nil {
		_, err = s.client.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: r.SessionID, Path: "/repo/a", Content: "x"})
	}
	say(fmt.Sprint("done|: ", err))
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
}

// between carries messages between two peers, and returns the recording.
func between(t *testing.T, agent, client acptest.ServeFunc) *acptest.Replay {
	t.Helper()
	toClient, fromProxy := acp.Pipe()
	toProxy, fromClient := acp.Pipe()
	toAgent, fromProxy2 := acp.Pipe()
	toProxy2, fromAgent := acp.Pipe()
	var recording bytes.Buffer
	ended := make(chan error, 2)
	go func() {
		ended <- acpproxy.Serve(t.Context(), toProxy, fromProxy, toProxy2, fromProxy2, acpproxy.Config{Record: &recording})
	}()
	go func() {
		err := agent(t.Context(), toAgent, fromAgent)
		_ = fromAgent.Close()
		ended <- err
	}()
	require.NoError(t, client(t.Context(), toClient, fromClient))
	_ = fromClient.Close()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	replay, err := acptest.ReadReplay(&recording)
	require.NoError(t, err)
	return replay
}

func scribes(n, chunks int) acptest.ServeFunc {
	return acptest.ServeAgent(func(c *acp.AgentConn) acp.Agent { return &scribe{client: c, n: n, chunks: chunks} }, nil)
}

// user is a client that works with an agent, cancels a turn, and goes.
func user(answer acpclient.PermissionFunc, texts *[]string) acptest.ServeFunc {
	return func(ctx context.Context, r io.Reader, w io.Writer) error {
		c, err := acpclient.Connect(ctx, r, w, acpclient.Config{Permission: answer})
		if err != nil {
			return err
		}
		defer c.Close()
		s, err := c.NewSession(ctx, acpclient.SessionConfig{Cwd: "/repo"})
		if err != nil {
			return err
		}
		turn, err := s.Say(ctx, "write")
		if err != nil {
			return err
		}
		*texts = append(*texts, turn.Text())
		short, cancel := context.WithCancel(ctx)
		go func() {
			for range s.Cursor(nil).All(ctx) {
				for e := range s.Snapshot().All() {
					if strings.Contains(e.Text(), "waiting") {
						cancel()
						return
					}
				}
			}
		}()
		_, _ = s.Say(short, "wait")
		cancel()
		_, err = s.Say(ctx, "write again") // when the cancelled turn has ended
		return err
	}
}

func TestRecordingIsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second []string
		recording := between(t, scribes(1, 1), user(acpclient.AllowAll, &first))
		// The client is given the recorded agent, and then the recorded client an agent with other ids and other chunks.
		again := between(t, recording.ServeAgent, user(acpclient.AllowAll, &second))
		require.Equal(t, first, second)
		require.Empty(t, recording.Differs(again))
		third := between(t, scribes(2, 1), recording.ServeClient)
		require.Empty(t, recording.Differs(third))
		fourth := between(t, scribes(3, 30), recording.ServeClient)
		require.Contains(t, recording.Differs(fourth), `"waiting.`)
	})
}

const hello = `{"ms":0,"from":"client","message":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}}
{"ms":0,"from":"agent","message":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}
`

func TestReplayOfTheAgentReportsWhatIsNotRecorded(t *testing.T) {
	replay, err := acptest.ReadReplay(strings.NewReader(hello + `{"ms":0,"from":"client","message":{"jsonrpc":"2.0","id":1,"method":"session/list"}}` + "\n"))
	require.NoError(t, err)
	in := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":"b","method":"session/new"}` + "\nnoise\n")
	var out bytes.Buffer
	err = replay.ServeAgent(t.Context(), in, &out)
	require.ErrorContains(t, err, "a request session/new came that is not in the recording; what came is not a message; message 3 of the recording has not come: a request session/list")
	require.Equal(t, `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":1}}`+"\n"+`{"jsonrpc":"2.0","id":"b","error":{"code":-32603,"message":"session/new is not in the recording"}}`+"\n", out.String())
}

func TestReplayOfTheClientReportsOtherAnswers(t *testing.T) {
	replay, err := acptest.ReadReplay(strings.NewReader(hello))
	require.NoError(t, err)
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":0,"result":{}}`:                           "",
		`{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"x"}}`: "initialize was answered with a error",
		``: "message 2 of the recording has not come: a response of initialize",
		`{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file"}`: "a request fs/read_text_file came",
	} {
		err := replay.ServeClient(t.Context(), strings.NewReader(answer+"\n"), io.Discard)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestReplayEndsWithItsContext(t *testing.T) {
	replay, err := acptest.ReadReplay(strings.NewReader(hello))
	require.NoError(t, err)
	in, theirs := acp.Pipe()
	defer theirs.Close()
	require.ErrorIs(t, replay.ServeAgent(ended(t), in, io.Discard), context.Canceled)
	_, err = acptest.ReadReplay(strings.NewReader(""))
	require.ErrorContains(t, err, "no messages")
}

func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A recorded client that said its last word after an update says it when an update has come.
func TestReplayOfTheClientWaitsForAnUpdateBeforeItsLastMessage(t *testing.T) {
	const update = `{"jsonrpc":"2.0","method":"session/update"}`
	const last = `{"jsonrpc":"2.0","method":"session/cancel"}`
	replay, err := acptest.ReadReplay(strings.NewReader(hello +
		`{"ms":0,"from":"agent","message":` + update + "}\n" + `{"ms":0,"from":"client","message":` + last + "}\n"))
	require.NoError(t, err)
	const answer = `{"jsonrpc":"2.0","id":0,"result":{}}` + "\n"
	unread, err := acptest.ReadReplay(strings.NewReader(hello + `{"ms":0,"from":"agent","message":` + update + "}\n"))
	require.NoError(t, err)
	require.NoError(t, unread.ServeClient(t.Context(), strings.NewReader(answer), io.Discard), "nothing follows the update")
	for in, want := range map[string]string{answer: "", answer + update + "\n": last + "\n"} {
		var out bytes.Buffer
		require.NoError(t, replay.ServeClient(t.Context(), strings.NewReader(in), &out))
		_, after, _ := strings.Cut(out.String(), "\n") // initialize
		require.Equal(t, want, after)
	}
}

// Up to five differences are told, and the number of the others.
func TestReplayTellsFiveDifferences(t *testing.T) {
	replay, err := acptest.ReadReplay(strings.NewReader(hello))
	require.NoError(t, err)
	const noise, missing = "what came is not a message", "message 2 of the recording has not come: a response of initialize"
	for n, want := range map[int]string{
		3: strings.Repeat(noise+"; ", 3) + missing, 4: strings.Repeat(noise+"; ", 4) + missing,
		5: strings.Repeat(noise+"; ", 5) + "and 1 more", 7: strings.Repeat(noise+"; ", 5) + "and 3 more",
	} {
		err := replay.ServeClient(t.Context(), strings.NewReader(strings.Repeat("noise\n", n)), io.Discard)
		require.EqualError(t, err, "acptest: replay: "+want)
	}
}
