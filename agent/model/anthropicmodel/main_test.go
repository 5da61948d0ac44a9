package anthropicmodel_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "sk-ant-test-0123456789abcdef"

// answer is what a scripted endpoint answers.
type answer struct {
	status int // 200 if 0
	header map[string]string
	body   string
	// cut closes the connection after the body, in the middle of the answer.
	cut bool
}

func (a answer) serve(w http.ResponseWriter) {
	if strings.HasPrefix(a.body, "{") {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = io.WriteString(w, a.body)
	if a.cut {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// endpoint is a scripted endpoint: it gives its answers in order, and the last one from then on.
type endpoint struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []answer
	requests []*http.Request
	bodies   []string
}

func serve(t testing.TB, answers ...answer) *endpoint {
	e := &endpoint{answers: answers}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.requests = append(e.requests, r)
		e.bodies = append(e.bodies, string(body))
		a := e.answers[0]
		if len(e.answers) > 1 {
			e.answers = e.answers[1:]
		}
		e.mu.Unlock()
		a.serve(w)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.requests)
}

// newModel returns a model that does not retry, unless change says otherwise.
func newModel(t testing.TB, baseURL string, change ...func(*anthropicmodel.Config)) *anthropicmodel.Model {
	t.Helper()
	config := anthropicmodel.Config{
		Name: "claude-haiku-4-5", BaseURL: baseURL, APIKey: testKey, Retry: anthropicmodel.Retry{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := anthropicmodel.New(config)
	require.NoError(t, err)
	return m
}

func named(name string) func(*anthropicmodel.Config) {
	return func(c *anthropicmodel.Config) { c.Name = name }
}

func uncached(c *anthropicmodel.Config) { c.Cache = anthropicmodel.CacheOff }

func hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hi")}}
}

func request(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

// recorder is a sink that keeps deltas and checks the rules that hold for all of them.
type recorder struct {
	t      testing.TB
	deltas []model.Delta
	parts  []model.Part
}

func (r *recorder) sink(d model.Delta) error {
	r.deltas = append(r.deltas, d)
	if d.Kind == "" {
		require.NotNil(r.t, d.Usage, "a delta without a part has usage")
		return nil
	}
	require.LessOrEqual(r.t, d.Part, len(r.parts), "a new part has the next index")
	if d.Part == len(r.parts) {
		r.parts = append(r.parts, model.Part{Kind: d.Kind, CallID: d.CallID, Tool: d.Tool})
	} else {
		require.Empty(r.t, d.CallID+d.Tool, "only the first delta of a part has id and tool")
	}
	p := &r.parts[d.Part]
	require.Equal(r.t, p.Kind, d.Kind)
	if d.Kind == model.PartToolCall {
		p.Args = append(p.Args, d.Text...)
	} else {
		p.Text += d.Text
	}
	return nil
}

// agrees checks that the deltas say what the message says.
func (r *recorder) agrees(msg *model.Message) {
	r.t.Helper()
	var want []model.Part
	for _, p := range msg.Parts {
		if p.Kind == model.PartOpaque || p.Kind == model.PartThinking && p.Text == "" {
			continue
		}
		want = append(want, model.Part{Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool, Args: p.Args})
	}
	require.ElementsMatch(r.t, want, r.parts)
	usage := r.deltas[len(r.deltas)-1].Usage
	require.NotNil(r.t, usage, "usage comes last")
	require.Equal(r.t, msg.Usage, *usage)
}

// stream makes a streamed request and checks the deltas against the message.
func stream(t testing.TB, m model.Model, req *model.Request) (*model.Message, error) {
	t.Helper()
	r := &recorder{t: t}
	msg, err := m.Generate(context.Background(), req, r.sink)
	if err == nil {
		r.agrees(msg)
	}
	return msg, err
}

func apiError(t testing.TB, err error) *model.APIError {
	t.Helper()
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.NotContains(t, err.Error(), testKey)
	require.NotContains(t, err.Error(), "\n")
	return e
}

// again returns a message as a history that was saved has it.
func again(t testing.TB, msg *model.Message) *model.Message {
	t.Helper()
	data, err := json.Marshal(msg)
	require.NoError(t, err)
	read := &model.Message{}
	require.NoError(t, json.Unmarshal(data, read))
	require.Equal(t, msg.Parts, read.Parts)
	return read
}

// sent returns what m sends for a request, as JSON.
func sent(t testing.TB, change func(*anthropicmodel.Config), req *model.Request) map[string]json.RawMessage {
	t.Helper()
	e := serve(t, answer{body: events(say("ok")...)})
	_, err := newModel(t, e.URL, change).Generate(context.Background(), req, nil)
	require.NoError(t, err)
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(e.bodies[0]), &body))
	return body
}
