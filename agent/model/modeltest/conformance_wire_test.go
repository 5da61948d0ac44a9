package modeltest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// wired is a model that sends what it is told to.
type wired struct {
	*provider
	encode func(req *model.Request) string
	mu     sync.Mutex
	sent   string
}

func (w *wired) Info() model.Info { return w.provider.Info() }

func (w *wired) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	w.mu.Lock()
	w.sent += w.encode(req)
	w.mu.Unlock()
	return w.provider.Generate(ctx, req, sink)
}

// words is what a good model sends.
func words(req *model.Request) string {
	var b strings.Builder
	b.WriteString(req.Instructions)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind != model.PartThinking {
				b.WriteString(p.Text + string(p.Args))
			}
		}
	}
	return b.String()
}

func TestTheSuiteLooksAtTheWire(t *testing.T) {
	for name, test := range map[string]struct {
		encode        func(req *model.Request) string
		rule, problem string
	}{
		"all words":        {encode: words},
		"a word too few":   {func(req *model.Request) string { return strings.ReplaceAll(words(req), "ninth", "") }, "Nothing is lost", `"ninth words" was not sent`},
		"a word too often": {func(req *model.Request) string { return words(req) + words(req) }, "Nothing is lost", `was sent twice`},
		"a secret": {func(req *model.Request) string {
			all, _ := json.Marshal(req)
			return words(req) + string(all)
		}, "Nothing is lost", "which is nothing for this provider"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			made := map[testing.TB]*wired{}
			found := conform(t, modeltest.Harness{
				Provider: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					mu.Lock()
					defer mu.Unlock()
					made[t] = &wired{provider: &provider{Scenario: s}, encode: test.encode}
					return made[t]
				},
				Sent: func(t testing.TB) string {
					mu.Lock()
					defer mu.Unlock()
					made[t].mu.Lock()
					defer made[t].mu.Unlock()
					return made[t].sent
				},
			})
			all := strings.Join(found.problems, "\n")
			require.Contains(t, all, test.problem)
			// It sends before it looks whether it may.
			require.Contains(t, all, "while requests were forbidden this was sent")
			require.Contains(t, all, "what the model cannot do was sent all the same")
			for _, problem := range found.problems {
				if test.rule == "" || !strings.HasPrefix(problem, test.rule) {
					require.Regexp(t, "^(Forbidden requests|What the model cannot do)", problem)
				}
			}
		})
	}
}
