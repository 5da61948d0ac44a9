// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

// told runs a test inside another one, and returns the names of its parts that failed or were skipped, and what was said first.
func told(t *testing.T, f func(*testing.T)) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	stdout, verbose := os.Stdout, flag.Lookup("test.v").Value.String()
	os.Stdout = file
	require.NoError(t, flag.Set("test.v", "true")) // so that skips are told
	defer func() {
		os.Stdout = stdout
		_ = flag.Set("test.v", verbose)
	}()
	all := func(string, string) (bool, error) { return true, nil }
	ran := false
	testing.RunTests(all, []testing.InternalTest{{Name: "inner", F: func(t *testing.T) {
		if ran {
			return // with -count
		}
		ran = true
		f(t)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "--- PASS: inner ("): // again, with -count
		case strings.HasPrefix(line, "--- FAIL"), strings.HasPrefix(line, "--- SKIP"), strings.HasPrefix(line, "--- PASS"):
			lines = append(lines, line[:strings.LastIndex(line, " (")])
		case strings.HasPrefix(line, "Error: "), strings.HasPrefix(line, "Messages: "):
			lines = append(lines, ports.ReplaceAllString(line, "ADDRESS"))
		}
	}
	slices.Sort(lines) // parts run in the order of a map
	var b strings.Builder
	for _, line := range slices.Compact(lines) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// reader is a model that reads lines of events and makes one text of their data, or what a test wants.
type reader struct {
	url     string
	client  *http.Client
	strict  bool // no end of line but LF
	resends int
	limit   int64 // after which a flood ends
	says    func(err error) error
	error   func(status int, body string) error
}

func (r *reader) Info() model.Info { return model.Info{Provider: "p", Name: "m"} }

func (r *reader) Generate(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", r.url, strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	for range r.resends {
		resp, err = r.client.Do(req)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if r.limit > 0 {
		_, err := io.CopyN(io.Discard, resp.Body, r.limit)
		return nil, r.says(errors.Join(err, fmt.Errorf("more than %d MiB without a complete event", r.limit>>20)))
	}
	if r.error != nil {
		data, _ := io.ReadAll(resp.Body)
		return nil, r.error(resp.StatusCode, string(data))
	}
	text := ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	if !r.strict {
		lines.Split(anyEnd)
	}
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "\ufeff")
		if data, ok := strings.CutPrefix(line, "data:"); ok && strings.HasPrefix(strings.TrimPrefix(data, " "), "text ") {
			text += strings.TrimPrefix(data, " ")
			if err := sink(model.Delta{Kind: model.PartText, Text: data}); err != nil {
				return nil, err
			}
		}
	}
	return model.Response(model.Text(text)), nil
}

// anyEnd splits at all ends of lines.
func anyEnd(data []byte, end bool) (int, []byte, error) {
	for i, c := range data {
		if c == '\n' || c == '\r' {
			if c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
				return i + 2, data[:i], nil
			}
			return i + 1, data[:i], nil
		}
	}
	if end && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (r *reader) open(_ testing.TB, url string) model.Model {
	with := *r
	with.url, with.client = url, http.DefaultClient
	return &with
}

// All that an answer is disturbed with, for one stream.
func TestDisturbances(t *testing.T) {
	const stream = "event: a\ndata: text 1\n\ndata: text 2\n\n"
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(disturbances)) {
		fmt.Fprintf(&b, "%s: %q\n", name, disturbances[name](stream))
	}
	for _, ends := range []string{"", "\n", "a\n\n\nb\nc\n\nd", "\n\n\n\n"} {
		fmt.Fprintf(&b, "mixed %q: %q\n", ends, mixedEnds(ends))
	}
	for _, k := range KeepAlives {
		fmt.Fprintf(&b, "keep-alive %q\n", k)
	}
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		fmt.Fprintf(&b, "flood of %s: %q\n", name, floods[name])
	}
	e := &endless{piece: "abc", read: new(atomic.Int64)}
	data := make([]byte, 8)
	n, err := io.ReadFull(e, data)
	require.NoError(t, err)
	require.Equal(t, "abcabcab", string(data[:n]))
	n, err = e.Read(data[:1])
	require.NoError(t, err)
	fmt.Fprintf(&b, "endless %q, %d\n", data[:n], e.read.Load())
	golden(t, "disturbances", b.String())
}

// A model that reads all streams alike passes, one that does not is found for each disturbance, and what is skipped is told.
func TestModelsThatAreDisturbed(t *testing.T) {
	const stream = "data: text 1\n\ndata: text 2\n\n"
	own := map[string]func(string) string{
		"own":  func(s string) string { return "data: other\n\n" + s },
		"more": func(s string) string { return s + "data: text 3\n\n" },
	}
	var b strings.Builder
	for _, r := range []*reader{{}, {strict: true}} {
		out := told(t, func(t *testing.T) {
			CheckDisturbed(t, r.open, stream, own, map[string]string{"comments": "for a reason", "own": "for another"})
		})
		fmt.Fprintf(&b, "# strict %v\n%s\n", r.strict, out)
	}
	fmt.Fprintf(&b, "# nothing said\n%s\n", told(t, func(t *testing.T) { CheckDisturbed(t, (&reader{}).open, "data: x\n\n", nil, nil) }))
	http.DefaultClient.CloseIdleConnections()
	golden(t, "disturbed", b.String())
}

// Models that end floods pass; those that read on, say something else or ask again are found.
func TestModelsThatAreFlooded(t *testing.T) {
	var b strings.Builder
	same := func(err error) error { return err }
	for name, r := range map[string]*reader{
		"1 right":            {limit: 8 << 20, says: same},
		"2 too late":         {limit: 100 << 20, says: same},
		"3 another error":    {limit: 8 << 20, says: func(error) error { return errors.New("too much") }},
		"4 no error":         {limit: 8 << 20, says: func(error) error { return nil }},
		"5 two requests":     {limit: 8 << 20, says: same, resends: 1},
		"6 no number of MiB": {limit: 8 << 20, says: func(error) error { return errors.New("more than MiB without a complete event") }},
	} {
		out := told(t, func(t *testing.T) {
			CheckFloods(t, func(f Transport) model.Model {
				with := *r
				with.url, with.client = "http://x.test", f.Client()
				return &with
			}, "data: text 1\n\n")
		})
		fmt.Fprintf(&b, "%s: %v\n", name, !strings.Contains(out, "FAIL"))
	}
	require.Equal(t, "1 right: true\n", regexp.MustCompile(`(?m)^[2-6].*: false\n`).ReplaceAllString(b.String(), ""))
}

// Answers of the providers with these names are sent with their status and in each form. A model that tells them apart passes.
func TestModelsThatTellErrorsApart(t *testing.T) {
	var b strings.Builder
	sent := map[string]int{}
	long := map[string]bool{}
	for i := range TooLong {
		long[TooLong[i].Body] = true
	}
	prefix := []string{"Groq", "OpenAI"}
	for name, answer := range map[string]func(status int, body string) error{
		"1 right": func(status int, body string) error {
			sent[fmt.Sprint(strings.HasPrefix(body, "<"), status != 200)]++
			return fails(long[strings.Trim(body, "<>")], false)
		},
		"2 all too long":        func(int, string) error { return fails(true, false) },
		"3 none too long":       func(int, string) error { return fails(false, false) },
		"4 to be tried again":   func(_ int, body string) error { return fails(long[strings.Trim(body, "<>")], true) },
		"5 no error of the API": func(int, string) error { return errors.New("no") },
		"6 no error at all":     nil,
		"7 others tried again": func(_ int, body string) error {
			return fails(long[strings.Trim(body, "<>")], !long[strings.Trim(body, "<>")])
		},
	} {
		out := told(t, func(t *testing.T) {
			ContextLength(t, (&reader{error: answer}).open, prefix, map[string]func(string) string{"brackets": func(s string) string { return "<" + s + ">" }})
		})
		fmt.Fprintf(&b, "# %s\n", name)
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "Error:") && !strings.HasPrefix(line, "Messages:") {
				b.WriteString(line)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
	parts := strings.Split(b.String(), "# ")
	slices.Sort(parts)
	want := map[string]int{}
	for _, list := range [][]ErrorAnswer{TooLong, NotTooLong} {
		for _, a := range list {
			if !strings.HasPrefix(a.Provider, "Groq") && !strings.HasPrefix(a.Provider, "OpenAI") {
				continue
			}
			if a.Status != 200 {
				want["false true"]++
			}
			if json.Valid([]byte(a.Body)) && a.Status != 401 {
				want["true false"]++
			}
		}
	}
	require.Equal(t, want, sent)
	golden(t, "apart", strings.Join(parts, "# "))
	require.False(t, hasPrefix("a", nil))
	require.False(t, hasPrefix("ba", []string{"a"}))
	require.True(t, hasPrefix("ba", []string{"a", "b"}))
}

func fails(long, again bool) error {
	e := &model.APIError{Provider: "p", Status: 400, Retryable: again, Message: "m"}
	if long {
		e.Code = "context_length_exceeded"
	}
	return e
}

// The lists of errors are read line by line.
func TestListsOfErrors(t *testing.T) {
	long, not := answers("a comment\n\n400\tp\tsource\nbody\nmore\n\nnot too long\n\n  200\tq\n\n\n\n413\tr\ts\tt\n{}")
	require.Equal(t, []ErrorAnswer{{"p", "source", 400, "body\nmore"}}, long)
	require.Equal(t, []ErrorAnswer{{"q", "", 200, ""}, {"r", "s\tt", 413, "{}"}}, not)
	require.Panics(t, func() { answers("x\ty\nz") })
}

// Conversations that are awkward or long are always the same.
func TestConversations(t *testing.T) {
	var b strings.Builder
	all := map[string][]*model.Message{"awkward": AwkwardCalls(), "long": LongHistory(4), "hello": Hello().Messages}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		messages := all[name]
		for _, m := range messages {
			data, err := json.MarshalIndent(struct {
				Kind            any
				Provider, Model string
				Parts           []model.Part
			}{m.Kind, m.Provider, m.Model, m.Parts}, "", " ")
			require.NoError(t, err)
			fmt.Fprintf(&b, "# %s %s\n", name, data)
		}
	}
	require.Len(t, LongHistory(4), 5)
	require.Len(t, LongHistory(5), 5)
	require.Len(t, LongHistory(6), 7)
	golden(t, "conversations", b.String())
}

// What is sent of awkward calls must fit, differ, and stay where it fits.
func TestWhatFitsAwkwardCalls(t *testing.T) {
	id, name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), regexp.MustCompile(`^[a-z]+$`)
	right := func() (calls, results []SentCall) {
		for i, p := range AwkwardCalls()[1].Parts {
			one := SentCall{fmt.Sprint("made-", i), "name"}
			if id.MatchString(p.CallID) {
				one.ID = p.CallID
			}
			calls, results = append(calls, one), append([]SentCall{one}, results...)
		}
		return calls, results
	}
	var b strings.Builder
	for _, c := range []struct {
		name  string
		spoil func(calls, results *[]SentCall)
	}{
		{"right", func(_, _ *[]SentCall) {}},
		{"results without a name", func(_, r *[]SentCall) {
			for i := range *r {
				(*r)[i].Name = ""
			}
		}},
		{"a call less", func(c, _ *[]SentCall) { *c = (*c)[1:] }},
		{"a result less", func(_, r *[]SentCall) { *r = (*r)[1:] }},
		{"an id that does not fit", func(c, r *[]SentCall) { (*c)[3].ID = "a b"; (*r)[len(*r)-4].ID = "a b" }},
		{"a name that does not fit", func(c, _ *[]SentCall) { (*c)[3].Name = "A" }},
		{"the same id twice", func(c, r *[]SentCall) { (*c)[4].ID = (*c)[3].ID; (*r)[len(*r)-5].ID = (*c)[3].ID }},
		{"a result of another call", func(_, r *[]SentCall) { (*r)[0], (*r)[1] = (*r)[1], (*r)[0] }},
		{"a result with another name", func(_, r *[]SentCall) { (*r)[0].Name = "other" }},
		{"an id that fits is changed", func(c, r *[]SentCall) { (*c)[0].ID = "x"; (*r)[len(*r)-1].ID = "x" }},
	} {
		calls, results := right()
		c.spoil(&calls, &results)
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, told(t, func(t *testing.T) { FitsAwkwardCalls(t, id, name, calls, results) }))
	}
	golden(t, "fits", b.String())
}

// Deltas must agree with each other and with the message.
func TestWhatRecordersFind(t *testing.T) {
	text := func(part int, s string) model.Delta { return model.Delta{Part: part, Kind: model.PartText, Text: s} }
	call := func(part int, id, tool, s string) model.Delta {
		return model.Delta{Part: part, Kind: model.PartToolCall, CallID: id, Tool: tool, Text: s}
	}
	used := model.Usage{InputTokens: 1}
	var b strings.Builder
	for _, c := range []struct {
		name   string
		deltas []model.Delta
		msg    *model.Message
	}{
		{"right", []model.Delta{text(0, "a"), call(1, "c", "t", "{"), text(0, "b"), call(1, "", "", "}"), {Usage: &model.Usage{}}, {Usage: &used}}, &model.Message{Parts: []model.Part{model.Text("ab"), model.ToolCall("c", "t", "{}"), model.Thinking(""), model.User("u")}, Usage: used}},
		{"whole", []model.Delta{{Whole: &model.Part{}}}, &model.Message{}},
		{"nothing in it", []model.Delta{{}}, &model.Message{}},
		{"an index too far", []model.Delta{text(1, "a")}, &model.Message{}},
		{"a later id", []model.Delta{call(0, "c", "t", ""), call(0, "c", "", "")}, &model.Message{Parts: []model.Part{model.ToolCall("c", "t", "")}}},
		{"a later tool", []model.Delta{call(0, "c", "t", ""), call(0, "", "t", "")}, &model.Message{Parts: []model.Part{model.ToolCall("c", "t", "")}}},
		{"another kind", []model.Delta{text(0, "a"), {Part: 0, Kind: model.PartThinking}}, &model.Message{Parts: []model.Part{model.Text("a")}}},
		{"another text", []model.Delta{text(0, "a")}, &model.Message{Parts: []model.Part{model.Text("b")}}},
		{"other arguments", []model.Delta{call(0, "c", "t", "{}")}, &model.Message{Parts: []model.Part{model.ToolCall("c", "t", "[]")}}},
		{"another usage", []model.Delta{{Usage: &used}}, &model.Message{}},
		{"thinking", []model.Delta{{Kind: model.PartThinking, Text: "hm"}}, &model.Message{Parts: []model.Part{model.Thinking("hm")}}},
		{"thinking that was not told", nil, &model.Message{Parts: []model.Part{model.Thinking("hm")}}},
	} {
		out := told(t, func(t *testing.T) {
			m := model.Func(model.Info{Provider: "p", Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
				for _, d := range c.deltas {
					if err := sink(d); err != nil {
						return nil, err
					}
				}
				return c.msg, nil
			})
			msg, err := Stream(t, m, Hello())
			require.NoError(t, err)
			require.Same(t, c.msg, msg)
		})
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, out)
	}
	golden(t, "recorders", b.String())
	failing := model.Func(model.Info{Provider: "p", Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, errors.New("no")
	})
	_, err := Stream(t, failing, Hello())
	require.EqualError(t, err, "no")
	e := &model.APIError{Provider: "p", Message: "m"}
	require.Same(t, e, APIError(t, fmt.Errorf("x: %w", e), "key"))
	for _, err := range []error{errors.New("no"), fmt.Errorf("with key: %w", e), fmt.Errorf("two\nlines: %w", e)} {
		require.Contains(t, told(t, func(t *testing.T) { APIError(t, err, "key") }), "--- FAIL: inner")
	}
}

// Transports answer as they are told to.
func TestTransports(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://x.test", strings.NewReader("body"))
	require.NoError(t, err)
	resp, err := Canned("said")(r)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, []any{"said", 200, "OK", 1, 1, int64(-1), 0}, []any{string(data), resp.StatusCode, resp.Status, resp.ProtoMajor, resp.ProtoMinor, resp.ContentLength, len(resp.Header)})
	require.Same(t, r, resp.Request)
	left, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Empty(t, left, "the whole request is read first")
	r.Body = io.NopCloser(&failingReader{})
	_, err = Canned("said")(r)
	require.EqualError(t, err, "no body")
	resp, err = Failing(418, "tea", "A", "1", "B", "2")(r)
	require.NoError(t, err)
	data, _ = io.ReadAll(resp.Body)
	require.Equal(t, []any{"tea", 418, http.Header{"A": {"1"}, "B": {"2"}}}, []any{string(data), resp.StatusCode, resp.Header})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = Never(r.WithContext(ctx))
	require.EqualError(t, err, "enough")
	_, err = Transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("away") }).Client().Get("http://x.test")
	require.ErrorContains(t, err, "away")
	require.Equal(t, model.KindRequest, Request(model.User("a"), model.User("b")).Kind)
	require.Len(t, Request(model.User("a"), model.User("b")).Parts, 2)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("no body") }

// patient is a model that reads a stream for so long without an event.
type patient struct {
	client *http.Client
	most   time.Duration
	says   string
	api    bool
	waits  bool // for the end of the connection, although all is there
}

func (*patient) Info() model.Info { return model.Info{Provider: "p", Name: "m"} }

func (p *patient) Generate(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://x.test", nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	var last time.Time
	data := make([]byte, 100)
	for {
		n, err := resp.Body.Read(data)
		switch text := string(data[:n]); {
		case err != nil:
			return nil, err
		case text == "end":
			if p.waits {
				time.Sleep(10 * time.Second)
			}
			return model.Response(model.Text("x")), nil
		case text == "begin":
			last = time.Now()
		case last.IsZero():
			last = time.Now()
		case time.Since(last) >= p.most:
			err := fmt.Errorf("%s: %w", p.says, os.ErrDeadlineExceeded)
			if p.api {
				err = fmt.Errorf("%w: %w", &model.APIError{Provider: "p", Message: "m"}, err)
			}
			return nil, err
		}
	}
}

// A model must wait half an hour, not longer, say what happened, and not wait for more than the answer.
func TestModelsThatAreKeptWaiting(t *testing.T) {
	var b strings.Builder
	const says = "only keep-alives for 30m0s"
	for _, c := range []struct {
		name string
		p    patient
	}{
		{"right", patient{most: 30 * time.Minute, says: says, api: true}},
		{"too soon", patient{most: 28 * time.Minute, says: says, api: true}},
		{"a moment too soon", patient{most: 30*time.Minute - 10*time.Second, says: says, api: true}},
		{"a moment too late", patient{most: 30*time.Minute + 10*time.Second, says: says, api: true}},
		{"for ever", patient{most: 66 * time.Minute, says: says, api: true}},
		{"says something else", patient{most: 30 * time.Minute, says: "no", api: true}},
		{"no error of the API", patient{most: 30 * time.Minute, says: says}},
		{"waits for more", patient{most: 30 * time.Minute, says: says, api: true, waits: true}},
	} {
		out := told(t, func(t *testing.T) {
			CheckKeepAlives(t, func(f Transport) model.Model {
				p := c.p
				p.client = f.Client()
				return &p
			}, "alive", "begin", "end")
		})
		fmt.Fprintf(&b, "# %s\n", c.name)
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "---") {
				b.WriteString(line)
			}
		}
	}
	golden(t, "waiting", b.String())
}
