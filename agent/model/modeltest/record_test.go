// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// record runs talk with a recorder of m. It returns the content of the file and a model that replays it.
func record(t testing.TB, m model.Model, talk func(m model.Model)) (string, *modeltest.Replayer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "deep", "recording.json")
	r := modeltest.Record(m, file)
	require.Equal(t, m.Info(), r.Info())
	talk(r)
	require.NoError(t, r.Close())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	replay, err := modeltest.Replay(file)
	require.NoError(t, err)
	require.Equal(t, m.Info(), replay.Info())
	return string(text), replay
}

func TestReplayEqualsTheRecordedRun(t *testing.T) {
	run := func(m model.Model) (string, []*model.Message) {
		a, err := agent.New(agent.Config[recNothing, recReport]{
			Model: m, Instructions: "Report <briefly> & well.", Toolsets: []toolset.Toolset[recNothing]{toolset.Of(recForecast(), recPing())},
		})
		require.NoError(t, err)
		s := a.Stream(t.Context(), recNothing{}, "How is <Oslo>?")
		var events strings.Builder
		for e := range s.Events() {
			if e.Kind == agent.EventPartDelta {
				fmt.Fprintf(&events, "%s|", e.Text)
			}
		}
		res, err := s.Result()
		require.NoError(t, err)
		return events.String(), res.Messages
	}
	var events string
	var messages []*model.Message
	text, replay := record(t, modeltest.Auto(), func(m model.Model) { events, messages = run(m) })
	replayedEvents, replayed := run(replay)
	require.Equal(t, events, replayedEvents, "in the same pieces")
	require.Zero(t, replay.Left())
	require.Len(t, replayed, len(messages))
	for i := range messages {
		require.Equal(t, messages[i].Parts, replayed[i].Parts)
		require.Equal(t, messages[i].Usage, replayed[i].Usage)
	}
	require.NotContains(t, text, messages[0].RunID)
	require.Equal(t, 1, strings.Count(text, `"Report <briefly> & well."`), "repeated content is written once, without escapes:\n%s", text)
	require.Equal(t, 1, strings.Count(text, `"How is <Oslo>?"`))
}

func TestRecordingsAreReadable(t *testing.T) {
	temperature := 0.5
	text, _ := record(t, modeltest.Script(
		modeltest.Say(model.ToolCall("1", "look", `{"at":"<a> & \u003cb\u003e"}`)), modeltest.SayText("It is two words."),
	), func(m model.Model) {
		req := &model.Request{
			Instructions: "Be brief.", Messages: []*model.Message{{
				Kind: model.KindRequest, RunID: "r", ConversationID: "c", Time: time.Now(), Metadata: map[string]string{"a": "b"}, Instructions: "old",
				Parts: []model.Part{model.User("What is it?"), model.Media("image/png", []byte("picture"))},
			}},
			Tools:      []model.ToolDef{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","description":"\u003cat\u003e \\u003c"}`), Strict: true}},
			ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "look"},
			Output:     &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{ "type" : "string" }`)},
			Settings: &model.Settings{
				Temperature: &temperature, Stop: []string{"x"},
				ExtraHeaders: map[string]string{"X-Secret": "hunter2", "A": "b"}, ExtraBody: map[string]json.RawMessage{"k": json.RawMessage(`[1, 2]`), "none": nil, "odd": json.RawMessage(`{`)},
			},
		}
		first := generate(t, m, req)
		req.Messages = append(req.Messages, first, &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("1", "look", "a \"thing\"")}})
		_, _, err := deltas(t, m, req)
		require.NoError(t, err)
	})
	golden := filepath.Join("testdata", "recording.json")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	require.NotContains(t, text, "hunter2")
	again, err := modeltest.DecodeRecording([]byte(text))
	require.NoError(t, err)
	require.Equal(t, text, string(again), "reading and writing is stable")
}

func TestFileSizeIsLinear(t *testing.T) {
	size := func(steps int) int {
		text, _ := record(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return modeltest.SayText("and so on")(t.Context(), nil)
		}), func(m model.Model) {
			req := recAsk("go")
			for range steps {
				req.Messages = append(req.Messages, generate(t, m, req), model.UserText("go on"))
			}
		})
		return len(text)
	}
	require.Less(t, size(40), 5*size(10))
}

func TestEqualRequestsReplayInOrder(t *testing.T) {
	n := 0
	_, replay := record(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		n++
		return model.Response(model.Text(fmt.Sprint(n))), nil
	}), func(m model.Model) {
		for range 3 {
			generate(t, m, recAsk("again"))
		}
		generate(t, m, recAsk("other"))
	})
	require.Equal(t, 4, replay.Left())
	require.Equal(t, "4", generate(t, replay, recAsk("other")).Text(), "in any order among other requests")
	for i := range 3 {
		require.Equal(t, fmt.Sprint(i+1), generate(t, replay, recAsk("again")).Text())
	}
	require.Zero(t, replay.Left())
	err := recFailure(t, replay, recAsk("again"))
	require.ErrorContains(t, err, `the same request was recorded 3 times and is made again: 1 messages, the last: user "again"; to record again, run the test with PONTE_RECORD=1`)
}

func TestRecordAndReplayConcurrently(t *testing.T) {
	talk := func(m model.Model) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 5 {
					_, msg, err := deltas(t, m, recAsk(fmt.Sprint("number ", i)))
					if err != nil || msg.Text() != fmt.Sprint("number ", i) {
						t.Errorf("%v, %v", msg, err)
					}
				}
			})
		}
		wg.Wait()
	}
	_, replay := record(t, modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.Text(req.Messages[0].Parts[0].Text)), nil
	}), talk)
	talk(replay)
	require.Zero(t, replay.Left())
}

func TestReplayKeepsDeltas(t *testing.T) {
	usage := model.Usage{InputTokens: 3, ReasoningTokens: 1}
	want := []model.Delta{
		{Kind: model.PartThinking, Text: "hm"}, {Part: 1, Kind: model.PartText, Text: "w\xc3"}, {Part: 0, Kind: model.PartThinking, Text: "?"},
		{Part: 1, Kind: model.PartText, Text: "\xb6rld"}, {Part: 2, Kind: model.PartToolCall, CallID: "1", Tool: "t"}, {Part: 2, Kind: model.PartToolCall, Text: "{}"}, {Usage: &usage},
	}
	resp := model.Response(model.Thinking("hm?"), model.Text("wörld"), model.ToolCall("1", "t", "{}"))
	resp.Finish, resp.Usage, resp.ResponseID, resp.Provider = model.FinishToolCalls, usage, "id", "p"
	resp.RunID, resp.Time, resp.Metadata = "none of its business", time.Now(), map[string]string{"a": "b"}
	streaming := model.Func(model.Info{Provider: "p", Name: "m", Media: []string{"image"}, ContextWindow: 100}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range want {
			if sink != nil {
				if err := sink(d); err != nil {
					return nil, err
				}
			}
		}
		return resp, nil
	})
	talk := func(m model.Model) {
		got, msg, err := deltas(t, m, recAsk("go"))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, resp.Parts, msg.Parts)
	}
	_, replay := record(t, streaming, func(m model.Model) {
		talk(m)
		talk(m)
		generate(t, m, recAsk("once"))
	})
	talk(replay)
	msg := generate(t, replay, recAsk("go"))
	require.Equal(t, &model.Message{Kind: model.KindResponse, Parts: resp.Parts, Finish: resp.Finish, Usage: usage, ResponseID: "id", Provider: "p"}, msg)
	got, msg, err := deltas(t, replay, recAsk("once"))
	require.NoError(t, err)
	require.Equal(t, resp.Parts, msg.Parts)
	require.Len(t, got, 4, "an unstreamed response is streamed word by word")
}

func TestForbiddenRequestsAreNotRecorded(t *testing.T) {
	restore := model.ForbidRequests()
	defer restore()
	info := model.Info{Provider: "real", Name: "one"}
	real := model.Func(info, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, model.CheckRequests(info)
	})
	_, replay := record(t, real, func(m model.Model) {
		require.ErrorIs(t, recFailure(t, m, recAsk("go")), model.ErrRequestsForbidden)
	})
	require.Zero(t, replay.Left())
}

func TestRequestMustBeEncodable(t *testing.T) {
	nan := math.NaN()
	req := recAsk("go")
	req.Settings = &model.Settings{Temperature: &nan}
	_, replay := record(t, modeltest.Script(modeltest.SayText("ok")), func(m model.Model) {
		require.ErrorContains(t, recFailure(t, m, req), "modeltest: record ")
		require.ErrorContains(t, recFailure(t, m, req), "the request cannot be encoded as JSON")
		generate(t, m, recAsk("go"))
	})
	require.ErrorContains(t, recFailure(t, replay, req), "the request cannot be encoded as JSON")
}

func TestCloseReportsWriteErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	require.ErrorContains(t, modeltest.Record(modeltest.Auto(), filepath.Join(dir, "file", "x.json")).Close(), "modeltest: record ")
	require.ErrorContains(t, modeltest.Record(modeltest.Auto(), dir).Close(), "modeltest: record ")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no file is left")

	r := modeltest.Record(modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) { return &model.Message{}, nil }), filepath.Join(dir, "y.json"))
	_, err = r.Generate(t.Context(), recAsk("go"), nil)
	require.NoError(t, err)
	require.ErrorContains(t, r.Close(), "exchange 1: ")
}

func TestReplayReportsInvalidFiles(t *testing.T) {
	_, err := modeltest.Replay(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	exchange := func(s string) string { return `{"version":1,"exchanges":[` + s + `]}` }
	for text, want := range map[string]string{
		``:                            "unexpected end",
		`{}`:                          "version 0",
		`{"version":2}`:               "version 2, this program reads up to 1",
		`{"version":1,"exchanges":7}`: "cannot unmarshal",
		exchange(`{}`):                "exchange 1: must have one of response, error and stopped",
		exchange(`{"stopped":"sink","error":{"message":"x"}}`):                   "must have one of",
		exchange(`{"stopped":"nobody"}`):                                         `stopped by "nobody"`,
		exchange(`{"response":{"kind":"request"}}`):                              "response is a request",
		exchange(`{"response":{"kind":"response","v":99}}`):                      "newer than this program",
		exchange(`{"request":{"after":1},"stopped":"sink"}`):                     "follows exchange 1",
		exchange(`{"error":{"message":"x","api":{"retry_after":"soon"}}}`):       "error: ",
		exchange(`{"stopped":"sink"},{"request":{"after":-1},"stopped":"sink"}`): "exchange 2: follows exchange -1",
	} {
		file := filepath.Join(t.TempDir(), "x.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		_, err := modeltest.Replay(file)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "modeltest: replay "+file)
	}
}

// FuzzReplayFile checks that no file makes Replay panic, and that reading and writing is stable.
func FuzzReplayFile(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "recording.json"))
	require.NoError(f, err)
	f.Add(golden)
	f.Add([]byte(`{"version":1,"exchanges":[{"stopped":"sink"},{"request":{"after":1,"frame":{"tools":[{"schema":[1 , 2]}]}},"deltas":[{"bytes":"/w==","usage":{}}],"error":{"message":"x","is":["eof","?"],"api":{"cause":"c","retry_after":"1s"}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := modeltest.DecodeRecording(data)
		if err != nil {
			return
		}
		twice, err := modeltest.DecodeRecording(once)
		require.NoError(t, err, "%s", once)
		require.Equal(t, string(once), string(twice))
	})
}
