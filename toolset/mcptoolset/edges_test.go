// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// Nesting is counted up to a limit, in objects and in lists.
func TestNestingIsCountedUpToALimit(t *testing.T) {
	var list any = []any{}
	for n := 1; n < 6; n++ {
		for limit := range 7 {
			require.Equal(t, min(n, limit), depth(nested(n), limit), "%d, at most %d", n, limit)
			require.Equal(t, min(n, limit), depth(list, limit), "%d, at most %d", n, limit)
		}
		list = []any{1, list, "x"}
	}
	require.Zero(t, depth("x", 5))
	require.Equal(t, 3, depth(map[string]any{"a": 1, "b": []any{map[string]any{}}, "c": nested(2)}, 9))
}

// A hundred problems of a server are told, with two hundred bytes of a tool's name.
func TestProblemsAreBounded(t *testing.T) {
	c := catalog{}
	because := errors.New("because")
	for range 101 {
		c.problem(repeated("n", 201), because)
	}
	require.Len(t, c.problems, 100)
	require.Equal(t, Problem{Tool: repeated("n", 200) + "…", Err: because}, c.problems[99])
	c = catalog{}
	c.problem(repeated("n", 200), because)
	require.Equal(t, []Problem{{Tool: repeated("n", 200), Err: because}}, c.problems)
}

// A name that is changed, and that no other tool has then, is not worth a hash or a problem.
func TestChangedNamesThatAreFree(t *testing.T) {
	c := catalog{tools: []*Definition{{Name: "a b"}, {Name: "c"}}}
	c.name("s_")
	require.Equal(t, []string{"s_a_b", "s_c"}, []string{c.tools[0].offered, c.tools[1].offered})
	require.Empty(t, c.problems)
}

// A member that was probably meant is named with a hundred bytes of it.
func TestMembersThatWereMeant(t *testing.T) {
	for n, want := range map[int]string{91: repeated("_", 91) + "server", 92: repeated("_", 92) + "serve…"} {
		_, err := ParseConfig([]byte(`{"mcp`+repeated("_", n)+`server":{}}`), nil)
		require.EqualError(t, err, `mcptoolset: configuration: "mcpServers" is missing: did you mean it by "mcp`+want+`"?`)
	}
}

// A server of a configuration is printed without its secrets, whatever prints it.
func TestServersOfConfigurationsArePrinted(t *testing.T) {
	c := ServerConfig{Name: "a", Transport: HTTP{URL: "https://a.test?key=secret"}}
	const want = "a (https://a.test)"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		require.Equal(t, want, fmt.Sprintf(verb, c), verb)
	}
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.Equal(t, `"`+want+`"`, string(data))
	require.Equal(t, want, c.LogValue().String())
	require.Equal(t, "b", ServerConfig{Name: "b"}.String())
}

// Each byte of a server's standard error counts, also if it comes alone.
func TestSingleBytesOfStandardError(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	var shown strings.Builder
	p := &process{errs: r, stderr: &stderrLines{to: &shown}}
	_, err = w.WriteString("x")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	p.readErrors()
	require.NoError(t, r.Close())
	require.Equal(t, "x", string(p.tail))
	require.Equal(t, "x\n", shown.String())
	shown.Reset()
	for _, c := range "ab\nc\n\n" {
		p.stderr.add([]byte(string(c)))
	}
	require.Equal(t, "ab\nc\n", shown.String())
	require.Equal(t, repeated("l", 399), lastLines("first\n"+repeated("l", 399)), "a line that begins where the text is cut")
}

// deadlines is a store that notes how long it may take.
type deadlines struct{ left []time.Duration }

func (d *deadlines) Load(context.Context, string) ([]byte, error) { return nil, nil }

func (d *deadlines) Save(ctx context.Context, _ string, _ []byte) error {
	at, _ := ctx.Deadline()
	d.left = append(d.left, time.Until(at))
	return nil
}

// A store has ten seconds to keep a token.
func TestTokensAreKeptInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &deadlines{}
		k := &keeping{store: d, kept: &kept{}}
		require.NoError(t, k.save(&oauth2.Token{}))
		require.Equal(t, []time.Duration{10 * time.Second}, d.left)
		never := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
		require.EqualError(t, k.save(&oauth2.Token{Expiry: never}), "save token: it has no JSON form")
		require.Len(t, d.left, 1)
	})
}

// The names of files with tokens stay the same, so that users do not sign in again after an update.
func TestFilesOfTokensKeepTheirNames(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, FileTokens{Dir: dir}.Save(t.Context(), "https://a.test/mcp", []byte("x")))
	data, err := os.ReadFile(filepath.Join(dir, "f654cbad294eba2e9e30c42e42c86806.json"))
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

// What people are told of errors, progress and signing in has bounds.
func TestWhatPeopleAreToldIsBounded(t *testing.T) {
	s := &Server{config: &Config{Name: "s", Transport: Func(nil)}, known: &catalog{}}
	require.Equal(t, repeated("e", 500), s.plain(errors.New(repeated("e", 500))))
	require.Equal(t, repeated("e", 500)+"…", s.plain(errors.New(repeated("e", 501))))
	require.Equal(t, repeated("p", 200)+"…", Command{Path: repeated("p", 201)}.String())
	require.Equal(t, repeated("p", 200), Command{Path: repeated("p", 200)}.String())
	for n, want := range map[int]string{192: repeated("h", 192), 193: repeated("h", 192) + "…"} {
		r := &http.Request{URL: parsed(t, "https://"+repeated("h", n)+"/x")}
		_, err := (&homeTripper{home: parsed(t, "https://a.test")}).RoundTrip(r)
		require.EqualError(t, err, errElsewhere.Error()+": https://"+want)
	}
	s.logger = slog.New(slog.DiscardHandler)
	s.yield(&Definition{Server: "s", Name: repeated("n", 201)}, "x")
	require.Equal(t, repeated("n", 200)+"…", s.Problems()[0].Tool)
	host := &toolsettest.Host{}
	l := &link{flights: map[string]*flight{}, server: s, ctx: t.Context()}
	f := l.depart(t.Context(), caller{call: &toolset.Call{}, host: host, info: &toolset.RunInfo{}, title: repeated("t", 201)})
	l.progress(&mcp.ProgressNotificationParams{ProgressToken: f.token})
	f.work.Wait()
	f.arrive(true)
	require.Equal(t, []any{Progress{Server: "s", Tool: repeated("t", 200) + "…"}}, host.Events())
	c := newOutputCheck(json.RawMessage(`{"enum":["` + repeated("x", 600) + `"]}`))
	err := c.check("y", 3)
	require.ErrorIs(t, err, errForm)
	require.Len(t, err.Error(), len(errForm.Error())+len(": ")+500)
}

// Exported tools get an object if a client sends nothing, and else what it sends.
func TestArgumentsThatClientsLeaveOut(t *testing.T) {
	for given, want := range map[string]string{"": "{}", "1": "1", "{}": "{}", `{"a":1}`: `{"a":1}`} {
		for _, decode := range []func([]byte) (any, error){nil, func(raw []byte) (any, error) { return json.RawMessage(raw), nil }} {
			run := &toolset.RunContext[struct{}]{}
			run.Call.Args = model.RawArgs(given)
			checked := ""
			tool := &toolset.Tool[struct{}]{Decode: decode, Check: func(_ context.Context, run *toolset.RunContext[struct{}], args any) error {
				checked = fmt.Sprintf("%s", args)
				return nil
			}}
			args, err := decodedArgs(t.Context(), tool, run)
			require.NoError(t, err)
			require.Equal(t, json.RawMessage(want), args, given)
			require.Equal(t, want, checked)
		}
	}
	_, err := decodedArgs(t.Context(), &toolset.Tool[struct{}]{Decode: func([]byte) (any, error) { return nil, errors.New("bad") }}, &toolset.RunContext[struct{}]{})
	require.EqualError(t, err, "retry: bad")
}

// The output of an agent is text. An object is structured content, too, and nothing else is.
func TestOutputsOfAgents(t *testing.T) {
	type text string
	for i, c := range []struct {
		out        any
		text       string
		structured any
	}{
		{"hello", "hello", nil}, {text("hello"), "hello", nil}, {1, "1", nil}, {[]int{1}, "[1]", nil}, {nil, "null", nil},
		{map[string]int{}, "{}", json.RawMessage("{}")}, {struct{ A int }{1}, `{"A":1}`, json.RawMessage(`{"A":1}`)},
	} {
		res, err := outputOf(c.out)
		require.NoError(t, err)
		require.Equal(t, &mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: c.text}}, StructuredContent: c.structured,
		}, res, i)
	}
	_, err := outputOf(func() {})
	require.EqualError(t, err, "the output has no JSON form")
}
