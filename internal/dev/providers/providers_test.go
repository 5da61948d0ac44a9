// SPDX-License-Identifier: Apache-2.0

// Package providers tests what all packages of providers have in common: that a string is all it takes.
package providers

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/anthropicmodel"
	_ "github.com/ponte-go/ponte/agent/model/geminimodel"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/leaktest"
)

var update = flag.Bool("update", false, "rewrite the table in docs/models.md")

func TestMain(m *testing.M) { leaktest.Main(m) }

const key = "sk-secret-0123456789abcdef"

// wire says where a provider is asked, and how it learns the key.
type wire struct {
	path   string // how the path ends
	header string
	value  string
}

// chat is the wire of every provider that wires does not list.
var chat = wire{"/chat/completions", "Authorization", "Bearer " + key}

var wires = map[string]wire{
	"anthropic":        {"/v1/messages", "X-Api-Key", key},
	"azure":            {"/chat/completions", "Api-Key", key},
	"google":           {"/models/some-model:streamGenerateContent", "X-Goog-Api-Key", key},
	"openai-responses": {"/responses", "Authorization", "Bearer " + key},
	"vertex":           {"/models/some-model:streamGenerateContent", "X-Goog-Api-Key", key},
}

func wireOf(provider string) wire {
	if w, ok := wires[provider]; ok {
		return w
	}
	return chat
}

// answers are streams that say "pong", by the path.
var answers = map[string]string{
	"/chat/completions": `data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"pong"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
	"/responses": `data: {"type":"response.created","response":{"id":"r1","object":"response","status":"in_progress","model":"m","output":[]},"sequence_number":0}` + "\n\n" +
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i1","role":"assistant","status":"in_progress","content":[]},"sequence_number":1}` + "\n\n" +
		`data: {"type":"response.output_text.delta","item_id":"i1","output_index":0,"content_index":0,"delta":"pong","sequence_number":2}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"pong","annotations":[]}]},"sequence_number":3}` + "\n\n" +
		`data: {"type":"response.completed","response":{"id":"r1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"i1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"pong","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}},"sequence_number":4}` + "\n\n",
	"/v1/messages": "event: message_start\n" + `data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"pong"}}` + "\n\n" +
		"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}` + "\n\n" +
		"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n",
	":streamGenerateContent": `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"pong"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2},"modelVersion":"m","responseId":"1"}` + "\n\n",
}

// asked is a request as a provider's server saw it.
type asked struct {
	path   string
	header http.Header
}

// serve plays every provider. With refuse it answers 401 and quotes the key.
func serve(t *testing.T, refuse bool) (url string, requests func() []asked) {
	t.Helper()
	seen := make(chan asked, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- asked{r.URL.Path, r.Header}
		if refuse {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"type":"error","error":{"code":401,"status":"UNAUTHENTICATED","type":"authentication_error","message":"wrong key ` + key + `"}}`))
			return
		}
		for suffix, body := range answers {
			if strings.HasSuffix(r.URL.Path, suffix) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(body))
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []asked {
		var all []asked
		for len(seen) > 0 {
			all = append(all, <-seen)
		}
		return all
	}
}

// ping asks a model once, streamed.
func ping(t *testing.T, m model.Model) (*model.Message, error) {
	t.Helper()
	return m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("ping")}}, func(model.Delta) error { return nil })
}

// eachProvider runs a test for every registered provider.
func eachProvider(t *testing.T, test func(t *testing.T, provider string, d model.Driver)) {
	for provider, d := range model.Providers() {
		t.Run(provider, func(t *testing.T) { test(t, provider, d) })
	}
}

func TestEveryProviderIsAskedWhereAndAsItWantsToBe(t *testing.T) {
	eachProvider(t, func(t *testing.T, provider string, _ model.Driver) {
		url, requests := serve(t, false)
		m, err := model.OpenWith(t.Context(), provider+":some-model", model.OpenOptions{APIKey: key, BaseURL: url, HTTPClient: client(t), Getenv: nothing})
		require.NoError(t, err)
		require.Equal(t, "some-model", m.Info().Name)
		msg, err := ping(t, m)
		require.NoError(t, err)
		require.Equal(t, "pong", msg.Text())
		require.Equal(t, m.Info().Provider, msg.Provider)
		got := requests()
		require.Len(t, got, 1)
		w := wireOf(provider)
		require.True(t, strings.HasSuffix(got[0].path, w.path), "%s, want …%s", got[0].path, w.path)
		require.Equal(t, w.value, got[0].header.Get(w.header), "%v", got[0].header)
	})
}

// vertexNeeds is why vertex is not opened from the environment alone.
const vertexNeeds = "vertex takes credentials of Google's cloud from the environment, and they come from a server of Google's"

func TestEveryProviderCanBeOpenedFromItsEnvironmentAlone(t *testing.T) {
	eachProvider(t, func(t *testing.T, provider string, d model.Driver) {
		if provider == "vertex" {
			t.Skip(vertexNeeds)
		}
		require.NotEmpty(t, d.Env)
		env := map[string]string{d.Env[0]: key, "AWS_REGION": "us-west-2"}
		url, requests := serve(t, false)
		for _, name := range d.Env[1:] {
			if strings.HasSuffix(name, "_BASE_URL") || strings.HasSuffix(name, "_ENDPOINT") || strings.HasSuffix(name, "_HOST") {
				env[name] = url
			}
		}
		asked := map[string]bool{} // which variables Open looks up
		getenv := func(name string) string { asked[name] = true; return env[name] }
		o := model.OpenOptions{Getenv: getenv, HTTPClient: client(t)}
		if provider == "bedrock" { // its address depends on the region alone
			o.HTTPClient.Transport = elsewhere{o.HTTPClient.Transport, strings.TrimPrefix(url, "http://")}
		}
		m, err := model.OpenWith(t.Context(), provider+":some-model", o)
		require.NoError(t, err)
		msg, err := ping(t, m)
		require.NoError(t, err)
		require.Equal(t, "pong", msg.Text())
		require.Equal(t, wireOf(provider).value, requests()[0].header.Get(wireOf(provider).header))
		for name := range asked {
			require.Contains(t, d.Env, name, "the driver reads a variable that it does not name")
		}
	})
}

// elsewhere sends requests to another host.
type elsewhere struct {
	http.RoundTripper
	host string
}

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", e.host
	return e.RoundTripper.RoundTrip(r)
}

// client is one whose connections end with the test.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func nothing(string) string { return "" }

func TestNoErrorShowsTheKey(t *testing.T) {
	eachProvider(t, func(t *testing.T, provider string, _ model.Driver) {
		url, _ := serve(t, true)
		o := model.OpenOptions{APIKey: key, BaseURL: url, HTTPClient: client(t), Getenv: nothing}
		m, err := model.OpenWith(t.Context(), provider+":some-model", o)
		require.NoError(t, err)
		_, err = ping(t, m)
		require.ErrorIs(t, err, model.ErrAuth)
		require.NotContains(t, err.Error(), key)
		require.Contains(t, err.Error(), "wrong key")

		for _, wrong := range []model.OpenOptions{
			{APIKey: key, BaseURL: "ftp://user:" + key + "@host.test", Getenv: nothing},
			{APIKey: key, BaseURL: "http://" + key + "@\x7f", Getenv: nothing},
		} {
			if _, err := model.OpenWith(t.Context(), provider+":some-model", wrong); err != nil {
				require.NotContains(t, err.Error(), key)
			}
		}
	})
}

func TestPatienceAndSettingsOfTheOptionsAreKept(t *testing.T) {
	eachProvider(t, func(t *testing.T, provider string, _ model.Driver) {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if asked.Add(1); strings.Contains(r.URL.String(), "silent") {
				<-r.Context().Done()
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(server.Close)
		o := model.OpenOptions{
			APIKey: key, BaseURL: server.URL, HTTPClient: client(t), Getenv: nothing,
			Retry: model.RetryPolicy{Attempts: 1}, Settings: &model.Settings{MaxTokens: -1},
		}
		_, err := model.OpenWith(t.Context(), provider+":some-model", o)
		require.ErrorContains(t, err, "MaxTokens")

		o.Settings = nil
		m, err := model.OpenWith(t.Context(), provider+":some-model", o)
		require.NoError(t, err)
		_, err = ping(t, m)
		require.ErrorAs(t, err, new(*model.APIError))
		require.EqualValues(t, 1, asked.Load(), "one attempt")

		o.BaseURL, o.Timeouts.Total = server.URL+"/silent", 50*time.Millisecond
		m, err = model.OpenWith(t.Context(), provider+":some-model", o)
		require.NoError(t, err)
		_, err = ping(t, m)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func TestAMissingKeyIsAnErrorThatNamesItsVariable(t *testing.T) {
	local := []string{"llamacpp", "lmstudio", "ollama", "vllm"}
	eachProvider(t, func(t *testing.T, provider string, d model.Driver) {
		o := model.OpenOptions{Getenv: func(name string) string {
			if name == "AZURE_OPENAI_ENDPOINT" {
				return "https://x.test"
			}
			return ""
		}}
		_, err := model.OpenWith(t.Context(), provider+":some-model", o)
		if slices.Contains(local, provider) {
			require.NoError(t, err, "a server of one's own needs none")
			return
		}
		require.ErrorIs(t, err, model.ErrAuth)
		require.Condition(t, func() bool {
			return slices.ContainsFunc(d.Env, func(name string) bool { return strings.Contains(err.Error(), "set "+name) })
		}, "%v", err)
	})
}

// home returns the package that registered a driver, below agent/model.
func home(d model.Driver) string {
	_, name, _ := strings.Cut(reflect.TypeOf(d.Opener).PkgPath(), "/agent/model/")
	return name
}

func TestTheRegistryKnowsWhichPackageBringsWhichProvider(t *testing.T) {
	registered := map[string]string{}
	for provider, d := range model.Providers() {
		registered[provider] = home(d)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../../agent/model/open_guess.go", nil, 0)
	require.NoError(t, err)
	known := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "homes" {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			pair := element.(*ast.KeyValueExpr)
			provider, err := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
			require.NoError(t, err)
			known[provider], err = strconv.Unquote(pair.Value.(*ast.BasicLit).Value)
			require.NoError(t, err)
		}
		return false
	})
	require.Equal(t, registered, known, "homes in agent/model/open_guess.go")
}

// The table in docs/models.md.
func TestTheDocumentationListsEveryProvider(t *testing.T) {
	const file, begin, end = "../../../docs/models.md", "<!-- providers -->\n", "<!-- /providers -->"
	var table strings.Builder
	table.WriteString("| Provider | Package | Variables, key first | Input besides text |\n|---|---|---|---|\n")
	for provider, d := range model.Providers() {
		m, err := model.OpenWith(t.Context(), provider+":some-model", model.OpenOptions{APIKey: key, BaseURL: "http://x.test", HTTPClient: client(t), Getenv: nothing})
		require.NoError(t, err)
		media := strings.ReplaceAll(strings.Join(m.Info().Media, ", "), "application/pdf", "PDF")
		if media == "" {
			media = "–"
		}
		table.WriteString("| `" + provider + ":` | `" + home(d) + "` | `" + strings.Join(d.Env, "`, `") + "` | " + media + " |\n")
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	before, rest, ok := strings.Cut(text, begin)
	require.True(t, ok, "docs/models.md lacks %q", begin)
	listed, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "docs/models.md lacks %q", end)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o644))
		return
	}
	require.Equal(t, table.String(), listed, "the table in docs/models.md: run the test with -update")
}
