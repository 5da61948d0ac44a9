package geminimodel_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	testKey   = "AIza-test-0123456789abcdef"
	testToken = "ya29.test-0123456789"
)

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
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(a.body, "{") {
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
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

func (e *endpoint) last() (*http.Request, string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[len(e.requests)-1], e.bodies[len(e.bodies)-1]
}

// newModel returns a model of the Gemini API that does not retry, unless change says otherwise.
func newModel(t testing.TB, baseURL string, change ...func(*geminimodel.Config)) *geminimodel.Model {
	t.Helper()
	config := geminimodel.Config{
		Name: "test-model", BaseURL: baseURL, APIKey: testKey, Retry: geminimodel.Retry{Attempts: 1},
	}
	for _, f := range change {
		f(&config)
	}
	m, err := geminimodel.New(config)
	require.NoError(t, err)
	return m
}

// onVertex makes a configuration one of Vertex AI with credentials that need no network.
func onVertex(c *geminimodel.Config) {
	c.Backend, c.APIKey, c.Project, c.Location = geminimodel.VertexAI, "", "acme", "europe-west4"
	c.Credentials = auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: tokens{}})
}

type tokens struct{ err error }

func (s tokens) Token(context.Context) (*auth.Token, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &auth.Token{Value: testToken}, nil
}

func named(name string) func(*geminimodel.Config) {
	return func(c *geminimodel.Config) { c.Name = name }
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
		switch {
		case p.Kind == model.PartText, p.Kind == model.PartThinking && p.Text != "", p.Kind == model.PartToolCall:
			want = append(want, model.Part{Kind: p.Kind, Text: p.Text, CallID: p.CallID, Tool: p.Tool, Args: p.Args})
		}
	}
	require.Equal(r.t, want, r.parts)
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

// events makes a stream of chunks, each in an event of its own, as Google's servers end lines.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + strings.ReplaceAll(c, "\n", "\ndata: ") + "\r\n\r\n")
	}
	return b.String()
}

// chunk is a chunk, or a whole answer, with these parts; finish may be empty.
func chunk(finish string, parts ...string) string {
	if finish != "" {
		finish = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` + finish +
		`,"index":0}],"modelVersion":"m-001","responseId":"r1"}`
}

func apiError(t testing.TB, err error) *model.APIError {
	t.Helper()
	var e *model.APIError
	require.ErrorAs(t, err, &e)
	require.NotContains(t, err.Error(), testKey)
	require.NotContains(t, err.Error(), "\n")
	return e
}

// slowCredentials wait for their context.
func slowCredentials() *auth.Credentials {
	return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: slowTokens{}})
}

type slowTokens struct{}

func (slowTokens) Token(ctx context.Context) (*auth.Token, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
