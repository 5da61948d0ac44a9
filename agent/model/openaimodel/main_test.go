package openaimodel_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testKey = "sk-test-0123456789abcdef"

// answer is what a scripted endpoint answers.
type answer struct {
	status int // 200 if 0
	header map[string]string
	body   string
	// cut closes the connection after the body, in the middle of the answer.
	cut bool
}

func (a answer) serve(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if w.Header().Get("Content-Type") == "" {
		if strings.HasPrefix(a.body, "{") {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
		}
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
func newModel(t testing.TB, baseURL, provider string, change ...func(*openaimodel.Config)) *openaimodel.Model {
	t.Helper()
	config := openaimodel.Config{
		Name: "test-model", BaseURL: baseURL, Provider: provider, APIKey: testKey,
		Retry: openaimodel.Retry{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := openaimodel.New(config)
	require.NoError(t, err)
	return m
}

func hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hi")}}
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
		if p.Kind == model.PartText || p.Kind == model.PartToolCall || p.Kind == model.PartThinking && p.Text != "" {
			want = append(want, model.Part{Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool, Args: p.Args})
		}
	}
	require.ElementsMatch(r.t, want, r.parts)
	var usage model.Usage
	for _, d := range r.deltas {
		if d.Usage != nil {
			usage = *d.Usage
		}
	}
	require.Equal(r.t, msg.Usage, usage)
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

// events makes a stream of chunks, each in an event of its own, that ends as it should.
func events(chunks ...string) string {
	return openEvents(chunks...) + "data: [DONE]\n\n"
}

func openEvents(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

// delta is a chunk whose first choice has this delta.
func delta(d string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// finish is the chunk that ends a response.
func finish(reason string) string {
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func apiError(t testing.TB, err error) *model.APIError {
	t.Helper()
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.NotContains(t, err.Error(), testKey)
	require.NotContains(t, err.Error(), "\n")
	return e
}
