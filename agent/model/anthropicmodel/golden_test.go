// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// story is a golden file with everything that came of a list of cases.
type story struct{ strings.Builder }

func (s *story) tell(name string, lines ...string) {
	fmt.Fprintf(s, "# %s\n%s\n\n", name, strings.Join(lines, "\n"))
}

// ways tells what came of one case in several ways, which are often the same.
func (s *story) ways(name string, ways []string, of func(way string) []string) {
	var told []string
	var by [][]string
	for _, way := range ways {
		text := strings.Join(of(way), "\n")
		if i := slices.Index(told, text); i >= 0 {
			by[i] = append(by[i], way)
			continue
		}
		told, by = append(told, text), append(by, []string{way})
	}
	fmt.Fprintf(s, "# %s\n", name)
	for i, text := range told {
		fmt.Fprintf(s, "%s:\n%s\n", strings.Join(by[i], ", "), text)
	}
	s.WriteString("\n")
}

// compare compares the story with a file, which the flag -update rewrites.
func (s *story) compare(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(s.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), s.String())
}

// generated are ids that differ in each run.
var generated = regexp.MustCompile(`call_[A-Z2-7]{26}`)

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	return generated.ReplaceAllString(string(data), "call_GENERATED")
}

// asError returns everything that a program can learn of an error.
func asError(err error) string {
	text := "error: " + generated.ReplaceAllString(err.Error(), "call_GENERATED")
	for _, is := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported, io.ErrUnexpectedEOF} {
		if errors.Is(err, is) {
			text += "\n  is: " + is.Error()
		}
	}
	if failed := (*model.APIError)(nil); errors.As(err, &failed) {
		text += fmt.Sprintf("\n  of %s %s, status %d, code %q, type %q, request %q, retryable %t, after %v", failed.Provider, failed.Model, failed.Status,
			failed.Code, failed.Type, failed.RequestID, failed.Retryable, failed.RetryAfter)
		if failed.Message != "" {
			text += fmt.Sprintf("\n  says: %q", failed.Message)
		}
		if failed.Err != nil && failed.Message != "" {
			text += "\n  because: " + failed.Err.Error()
		}
	}
	return text
}

// sorted yields the cases of a map in the order of their names.
func sorted[V any](cases map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			if !yield(name, cases[name]) {
				return
			}
		}
	}
}

// sending is what was sent: the headers that the configuration can change, and the body.
type sending struct{ head, body string }

// inMemory returns a model whose endpoint gives its answers in order, and the last one from then on, without a network. What
// was sent is kept in sent.
func inMemory(t testing.TB, sent *[]sending, change func(*anthropicmodel.Config), answers ...answer) *anthropicmodel.Model {
	n := 0
	answering := transport(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if sent != nil {
			head := r.Method + " " + r.URL.String()
			for _, name := range []string{"X-Api-Key", "Authorization", "Anthropic-Beta", "X-One"} {
				if value := r.Header.Get(name); value != "" {
					head += ", " + name + ": " + value
				}
			}
			*sent = append(*sent, sending{head, string(body)})
		}
		a := answers[min(n, len(answers)-1)]
		n++
		resp := adaptertest.Respond(r, max(a.Status, 200), adaptertest.Text(a.Body))
		for name, value := range a.Header {
			resp.Header.Set(name, value)
		}
		return resp, err
	})
	return newModel(t, "http://endpoint.test", func(c *anthropicmodel.Config) {
		c.HTTPClient = answering.Client()
		if change != nil {
			change(c)
		}
	})
}

// outcome tells what a request came to: each delta and the message, or the error.
func outcome(t testing.TB, m model.Model, req *model.Request, streamed bool) []string {
	var told []string
	var sink model.Sink
	if streamed {
		sink = func(d model.Delta) error {
			told = append(told, "delta: "+asJSON(d))
			return nil
		}
	}
	msg, err := m.Generate(t.Context(), req, sink)
	if err != nil {
		require.Nil(t, msg)
		return append(told, asError(err))
	}
	return append(told, "message: "+asJSON(msg))
}
