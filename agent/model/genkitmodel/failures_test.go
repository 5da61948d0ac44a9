// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// Each error of a plugin is told twice: without a dialect, and with one that reads it.
func TestEverythingThatIsToldOfErrors(t *testing.T) {
	refused := func(status core.StatusName, message string) error { return core.NewError(status, "%s", message) }
	all := []struct {
		name string
		err  error
	}{
		{"an error", errors.New("plain")}, {"no text", errors.New("")}, {"a secret", errors.New("bad key secret at https://u:p@x.test/a?key=1")},
		{"the longest message", errors.New(strings.Repeat("m", 2000))}, {"a message that is too long", errors.New(strings.Repeat("m", 2001))},
		{"an end", io.EOF}, {"an end in the middle", fmt.Errorf("x: %w", io.ErrUnexpectedEOF)},
		{"a URL", &url.Error{Op: "Post", URL: "https://u:p@x.test/v1?key=secret", Err: errors.New("broken")}},
		{"a connection", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}, {"a host", &url.Error{Op: "Post", URL: "https://x.test", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}},
		{"an API error", fmt.Errorf("x: %w", &model.APIError{Provider: "p", Model: "q", Status: 418, Code: "secret c", Type: "secret t", Message: "secret m", RequestID: "secret r", RetryAfter: time.Second, Err: errors.New("secret e")})},
		{"a panic", &genkitmodel.PanicError{Value: "v\x1b", Origin: "o"}}, {"an end of a goroutine", &genkitmodel.PanicError{}},
		{"rate", refused(core.RESOURCE_EXHAUSTED, "m")}, {"unavailable", refused(core.UNAVAILABLE, "m")}, {"unauthenticated", refused(core.UNAUTHENTICATED, "m")}, {"denied", refused(core.PERMISSION_DENIED, "m")},
		{"internal", refused(core.INTERNAL, "m")}, {"not found", refused(core.NOT_FOUND, "m")}, {"invalid", refused(core.INVALID_ARGUMENT, "m")},
		{"invalid input", refused(core.INVALID_ARGUMENT, "invalid input to action x: secret")}, {"invalid input of another status", refused(core.INTERNAL, "invalid input to action x")},
		{"what the plugin lacks", refused(core.INVALID_ARGUMENT, "model x does not support media")}, {"what something else lacks", refused(core.INVALID_ARGUMENT, "the model does not support media")},
		{"a model of which nothing is said", refused(core.INVALID_ARGUMENT, "model x")}, {"a long refusal", refused(core.INVALID_ARGUMENT, "invalid input to action "+strings.Repeat("m", 2000))},
	}
	dialects := []struct {
		name string
		read func(error, *model.APIError) bool
	}{
		{"none", nil},
		{"unread", func(error, *model.APIError) bool { return false }},
		{"status", func(_ error, e *model.APIError) bool {
			genkitmodel.FromHTTP(e, 503, http.Header{"X-Request-Id": {"r1"}, "Retry-After": {"7"}})
			return true
		}},
		{"code", func(_ error, e *model.APIError) bool {
			e.Code, e.Message, e.Retryable = "rate_limit_error", "slow down", true
			return true
		}},
		{"final", func(_ error, e *model.APIError) bool {
			e.Status, e.Type, e.Err = 400, "context_length_exceeded", nil
			return true
		}},
		{"said", func(_ error, e *model.APIError) bool {
			e.Status, e.Retryable = 400, true
			return true
		}},
	}
	var told strings.Builder
	for _, test := range all {
		fmt.Fprintf(&told, "== %s\n", test.name)
		before := ""
		for _, d := range dialects {
			dialect := genkitmodel.Generic()
			dialect.Error = d.read
			m, err := genkitmodel.New(stub{f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return answer(ai.NewTextPart("not used")), test.err
			}}, genkitmodel.Config{Dialect: &dialect, Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "[redacted]") }})
			require.NoError(t, err)
			msg, err := m.Generate(t.Context(), hello(), nil)
			require.ErrorIs(t, err, map[bool]error{true: test.err, false: err}[d.name == "none" && !errors.Is(err, model.ErrUnsupported) && !errors.As(test.err, new(*model.APIError)) && !errors.As(test.err, new(*url.Error))])
			text := tell(t, msg, err)
			if text == before {
				fmt.Fprintf(&told, "-- %s: the same\n", d.name)
				continue
			}
			fmt.Fprintf(&told, "-- %s\n%s", d.name, strings.ReplaceAll(text, strings.Repeat("m", 1900), "M…"))
			before = text
		}
	}
	golden(t, "errors.txt", told.String())
}

// The hooks of a dialect may change a message, make another one, or fail.
func TestHooksDecide(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	ok := answer(ai.NewTextPart("a"))
	for name, test := range map[string]struct {
		resp    *ai.ModelResponse
		err     error
		finish  func(*ai.ModelResponse, *model.Message) error
		recover func(error) (*model.Message, error)
		want    string // the text, or the error
	}{
		"no hooks":                       {ok, nil, nil, nil, "a"},
		"finish changes":                 {ok, nil, func(r *ai.ModelResponse, m *model.Message) error { m.Parts[0].Text += r.Text(); return nil }, nil, "aa"},
		"finish fails":                   {ok, nil, func(*ai.ModelResponse, *model.Message) error { return second }, nil, "model: fake model: second"},
		"recover is not asked":           {ok, nil, nil, func(error) (*model.Message, error) { return nil, second }, "a"},
		"recover knows nothing":          {nil, first, nil, func(error) (*model.Message, error) { return nil, nil }, "model: fake model: first"},
		"recover knows better":           {nil, first, nil, func(error) (*model.Message, error) { return nil, second }, "model: fake model: second"},
		"recover has a message":          {nil, first, nil, func(error) (*model.Message, error) { return model.Response(model.Text("b")), nil }, "b"},
		"recover has a message, and why": {nil, first, nil, func(error) (*model.Message, error) { return model.Response(model.Text("b")), second }, "b"},
		"recover and finish": {ok, first, func(r *ai.ModelResponse, m *model.Message) error {
			if r != nil {
				return errors.New("a response")
			}
			m.Parts[0].Text += "c"
			return nil
		}, func(error) (*model.Message, error) { return model.Response(model.Text("b")), nil }, "bc"},
		"finish is not asked after an error": {nil, first, func(*ai.ModelResponse, *model.Message) error { return second }, nil, "model: fake model: first"},
		"a response that is none":            {&ai.ModelResponse{}, nil, nil, func(err error) (*model.Message, error) { return model.Response(model.Text(err.Error())), nil }, "the response has no message"},
	} {
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
				c.Finish, c.Recover = test.finish, test.recover
				return ctx, nil
			}}
			m, err := genkitmodel.New(stub{f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				return test.resp, test.err
			}}, genkitmodel.Config{Dialect: &d})
			require.NoError(t, err)
			msg, err := m.Generate(t.Context(), hello(), sink)
			if strings.HasPrefix(test.want, "model: ") {
				require.EqualError(t, err, test.want, name)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, test.want, msg.Text(), name)
			require.Equal(t, []any{model.KindResponse, "fake", "model"}, []any{msg.Kind, msg.Provider, msg.Model}, name)
		}
	}
}

// What a message lacks is set, and what a hook has set is kept.
func TestMessagesOfHooksAreCompleted(t *testing.T) {
	for name, test := range map[string]struct{ made, want model.Message }{
		"nothing": {model.Message{}, model.Message{Kind: model.KindResponse, Provider: "fake", Model: "model", Finish: model.FinishOther}},
		"a model": {model.Message{Provider: "x", Model: "own", Finish: model.FinishStop}, model.Message{Kind: model.KindResponse, Provider: "fake", Model: "own", Finish: model.FinishStop}},
		"calls": {
			model.Message{Finish: model.FinishStop, Parts: []model.Part{model.ToolCall("c", "f", ""), model.ToolCall("c", "f", `{"x":1}`)}},
			model.Message{Kind: model.KindResponse, Provider: "fake", Model: "model", Finish: model.FinishToolCalls, Parts: []model.Part{model.ToolCall("c", "f", "{}"), model.ToolCall("c_2", "f", `{"x":1}`)}},
		},
		"calls, cut off": {
			model.Message{Finish: model.FinishLength, Parts: []model.Part{model.ToolCall("c", "f", "{}")}},
			model.Message{Kind: model.KindResponse, Provider: "fake", Model: "model", Finish: model.FinishLength, Parts: []model.Part{model.ToolCall("c", "f", "{}")}},
		},
	} {
		d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
			c.Recover = func(error) (*model.Message, error) {
				made := test.made
				return &made, nil
			}
			return ctx, nil
		}}
		m, err := genkitmodel.New(stub{f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			return nil, io.EOF
		}}, genkitmodel.Config{Dialect: &d})
		require.NoError(t, err)
		msg, err := m.Generate(t.Context(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, &test.want, msg, name)
	}
}

// A plugin has a quarter of a second to return when it is not needed any more.
func TestPluginsAreLeftAfterAQuarterOfASecond(t *testing.T) {
	for _, takes := range []time.Duration{0, time.Millisecond, 250*time.Millisecond - 1, 250 * time.Millisecond, time.Hour} {
		for _, ends := range []string{"sink", "context"} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				left, enough := errors.New("left"), errors.New("enough")
				m := openStub(t, func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
					if ends == "sink" {
						_ = cb(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{ai.NewTextPart("a")}})
					}
					<-ctx.Done()
					time.Sleep(takes)
					return nil, ctx.Err()
				})
				if ends == "context" {
					time.AfterFunc(time.Second, func() { cancel(left) })
				}
				began := time.Now()
				_, err := m.Generate(ctx, hello(), func(model.Delta) error { time.Sleep(time.Second); return enough })
				want := enough
				if ends == "context" {
					want = left
					require.EqualError(t, err, "genkitmodel: fake model: request cancelled: left (context canceled)")
				}
				require.ErrorIs(t, err, want)
				require.Equal(t, time.Second+min(takes, 250*time.Millisecond), time.Since(began))
				time.Sleep(time.Hour)
				cancel(nil)
			})
		}
	}
}

// A request that has ended is not answered, wherever it ends.
func TestEndsOfTheContext(t *testing.T) {
	left := errors.New("left")
	const want = "genkitmodel: fake model: request cancelled: left (context canceled)"
	for _, at := range []string{"before", "prepare", "plugin", "plugin that fails", "recover", "finish", "finish that fails", "last delta"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := false
		d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
			end := func(here string) {
				if at == here {
					cancel(left)
				}
			}
			end("prepare")
			c.Recover = func(error) (*model.Message, error) {
				end("recover")
				return model.Response(model.Text("b")), nil
			}
			c.Finish = func(*ai.ModelResponse, *model.Message) error {
				end("finish")
				if at == "finish that fails" {
					cancel(left)
					return io.EOF
				}
				return nil
			}
			return ctx, nil
		}}
		m, err := genkitmodel.New(stub{f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			asked = true
			switch at {
			case "plugin":
				cancel(left)
			case "plugin that fails":
				cancel(left)
				return nil, io.EOF
			case "recover":
				return nil, io.EOF
			}
			return answer(ai.NewTextPart("a")), nil
		}}, genkitmodel.Config{Dialect: &d})
		require.NoError(t, err)
		if at == "before" {
			cancel(left)
		}
		msg, err := m.Generate(ctx, hello(), func(model.Delta) error {
			if at == "last delta" {
				cancel(left)
			}
			return nil
		})
		require.Nil(t, msg, at)
		require.EqualError(t, err, want, at)
		require.Equal(t, at != "before", asked || at == "prepare", at)
		cancel(nil)
	}
}

// Headers may contain keys, so errors do not quote them.
func TestExtraHeadersAreHiddenInErrors(t *testing.T) {
	d := genkitmodel.Dialect{}
	m, err := genkitmodel.New(stub{f: func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return nil, errors.New("bad key-0123456789")
	}}, genkitmodel.Config{Dialect: &d, Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Key": "key-0123456789"}}})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), hello(), nil)
	require.EqualError(t, err, "model: fake model: bad [redacted]")
}

// Pieces become parts as a dialect says.
func TestPiecesBecomeParts(t *testing.T) {
	text, thought, call := model.PartText, model.PartThinking, model.PartToolCall
	for name, test := range map[string]struct {
		pieces []genkitmodel.Piece
		want   string
	}{
		"texts":           {[]genkitmodel.Piece{{Kind: text, Text: "a"}, {Kind: text, Text: "b"}}, `[{"kind":"text","text":"a"},{"kind":"text","text":"b"}]`},
		"an empty text":   {[]genkitmodel.Piece{{Kind: text}, {Kind: thought}}, `[]`},
		"a new part":      {[]genkitmodel.Piece{{Kind: text, Text: "a"}, {}, {Kind: text, Text: "b"}}, `[{"kind":"text","text":"a"},{"part":1,"kind":"text","text":"b"}]`},
		"another kind":    {[]genkitmodel.Piece{{Kind: text, Text: "a"}, {Kind: thought, Text: "b"}, {Kind: text, Text: "c"}}, `[{"kind":"text","text":"a"},{"part":1,"kind":"thinking","text":"b"},{"part":2,"kind":"text","text":"c"}]`},
		"a call":          {[]genkitmodel.Piece{{Kind: call, Call: 3, Tool: "f", CallID: "c", Text: "{"}, {Kind: call, Call: 3}, {Kind: call, Call: 3, Text: "}"}}, `[{"kind":"tool_call","text":"{","call_id":"c","tool":"f"},{"kind":"tool_call","text":"}"}]`},
		"two calls":       {[]genkitmodel.Piece{{Kind: call, Tool: "f", CallID: "c"}, {Kind: call, Call: 1, Tool: "g", CallID: "c"}, {Kind: call, Text: "{}"}, {Kind: call, Call: 1, Text: "[]"}}, `[{"kind":"tool_call","call_id":"c","tool":"f"},{"part":1,"kind":"tool_call","call_id":"c_2","tool":"g"},{"kind":"tool_call","text":"{}"},{"part":1,"kind":"tool_call","text":"[]"}]`},
		"a nameless call": {[]genkitmodel.Piece{{Kind: call, Text: "{}"}, {Kind: call, Tool: "f", CallID: "c", Text: "[]"}}, `[{"kind":"tool_call","text":"[]","call_id":"c","tool":"f"}]`},
		"text and calls":  {[]genkitmodel.Piece{{Kind: text, Text: "a"}, {Kind: call, Tool: "f", CallID: "c"}, {Kind: text, Text: "b"}}, `[{"kind":"text","text":"a"},{"part":1,"kind":"tool_call","call_id":"c","tool":"f"},{"part":2,"kind":"text","text":"b"}]`},
	} {
		d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
			c.OnChunk = func(*ai.ModelResponseChunk) error {
				for _, p := range test.pieces {
					if err := c.Emit(p); err != nil {
						return err
					}
				}
				return errors.New("enough")
			}
			return ctx, nil
		}}
		var told error
		m, err := genkitmodel.New(stub{f: func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			told = cb(ctx, &ai.ModelResponseChunk{})
			return nil, io.EOF
		}}, genkitmodel.Config{Dialect: &d})
		require.NoError(t, err)
		deltas := []model.Delta{}
		_, err = m.Generate(t.Context(), hello(), func(d model.Delta) error { deltas = append(deltas, d); return nil })
		require.ErrorIs(t, err, io.EOF)
		require.EqualError(t, told, "enough", "the error of OnChunk is the plugin's")
		require.Equal(t, test.want, jsonOf(t, deltas), name)
	}
}

func TestPanicsOfPlugins(t *testing.T) {
	_, bounds := func() (_ int, err error) {
		defer func() { err, _ = recover().(error) }()
		var none []int
		return none[len(none)], nil
	}()
	p := &genkitmodel.PanicError{Value: bounds, Origin: "github.com/x/plugin.(*P).f"}
	require.True(t, p.In("x/plugin."))
	require.False(t, p.In("x/other."))
	require.ErrorIs(t, p, bounds)
	require.False(t, (&genkitmodel.PanicError{Value: errors.New("own"), Origin: "x/plugin."}).In("x/plugin."))
	require.False(t, (&genkitmodel.PanicError{Origin: "x/plugin."}).In("x/plugin."))
	require.NoError(t, (&genkitmodel.PanicError{Value: "text"}).Unwrap())
	require.EqualError(t, p, "the Genkit plugin panicked: runtime error: index out of range [0] with length 0 (in github.com/x/plugin.(*P).f)")
	require.EqualError(t, &genkitmodel.PanicError{Origin: "o"}, "the Genkit plugin ended its goroutine")
	require.EqualError(t, &genkitmodel.PanicError{Value: "a\x1bb", Origin: "o"}, "the Genkit plugin panicked: a\ufffdb (in o)")
}

func TestNumbersAreDecoded(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "-9223372036854775808": int64(-9223372036854775808), "9223372036854775808": uint64(9223372036854775808), "18446744073709551616": 18446744073709551616.0,
		"1.0": 1.0, "1e2": 100.0, `[1,[2]]`: []any{int64(1), []any{int64(2)}}, `{"a":{"b":1}}`: map[string]any{"a": map[string]any{"b": int64(1)}}, `"1"`: "1", "null": nil, "true": true, " 1 ": int64(1),
	} {
		got, err := genkitmodel.Decode([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := genkitmodel.Decode([]byte("1 2"))
	require.EqualError(t, err, "unexpected data after the JSON value")
	got, err := genkitmodel.Decode([]byte("[1,"))
	require.Error(t, err)
	require.Nil(t, got)
	require.Equal(t, "[1", genkitmodel.JSONResult("[1"))
}

func TestNamesOfExtraFields(t *testing.T) {
	for _, name := range []string{"a", "z", "A", "Z", "0", "9", "_", "-", "a_B-1"} {
		fields, err := extraFields(t, name)
		require.NoError(t, err, name)
		require.Len(t, fields, 1)
	}
	for _, name := range []string{"`", "{", "@", "[", "/", ":", "a.b", "a|b", "a b", "é"} {
		fields, err := extraFields(t, name)
		require.EqualError(t, err, fmt.Sprintf("genkitmodel: fake model: the name %q in Settings.ExtraBody: not supported by the model", name))
		require.Nil(t, fields)
	}
}

func extraFields(t *testing.T, name string) (fields map[string]any, err error) {
	d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (_ context.Context, err error) {
		fields, err = c.ExtraFields()
		return ctx, err
	}}
	m := open(t, genkitmodel.Config{Dialect: &d}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return answer(), nil
	})
	req := hello()
	req.Settings = &model.Settings{ExtraBody: map[string]json.RawMessage{name: json.RawMessage("1")}}
	_, err = m.Generate(t.Context(), req, nil)
	return fields, err
}
