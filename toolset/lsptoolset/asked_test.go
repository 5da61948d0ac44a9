// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// doc is a document of the project as a server has it.
func doc(name string, version int32) *document {
	return &document{
		at: workspace.Location{Path: "/project/" + name, Name: name}, uri: "file:///project/" + name, version: version, sent: time.Now(),
		text: lsp.NewText("text of "+name+"\n", lsp.EndsCR),
	}
}

// TypeScript's server publishes nothing of a document that has no problems, if it had none before.
// It is then asked for both kinds, and what it has not told within the limit is not known.
func TestSilentServersAreAsked(t *testing.T) {
	const none, some = `"result":{"body":[]}`, `"result":{"body":[{"text":"bad"}]}`
	const syntactic, semantic = "syntacticDiagnosticsSync", "semanticDiagnosticsSync"
	both := []string{syntactic, semantic}
	clean, bad := &published{version: 1}, &published{version: 1, items: []lsp.Diagnostic{{Message: "bad"}}}
	for name, c := range map[string]struct {
		server  string
		known   *published
		answers [2]string
		asked   []string
		done    bool
		after   time.Duration
	}{
		"it has none":                 {"", clean, [2]string{none, none}, both, true, 0},
		"it has others":               {"", clean, [2]string{some, none}, both[:1], false, time.Second},
		"it has problems of meaning":  {"", clean, [2]string{none, some}, both, false, time.Second},
		"it does not say":             {"", clean, [2]string{`"result":{}`, none}, both[:1], false, time.Second},
		"it fails":                    {"", clean, [2]string{`"error":{"code":1,"message":"x"}`, none}, both[:1], false, time.Second},
		"it does not answer":          {"", clean, [2]string{"", none}, both[:1], false, time.Second},
		"it does not answer the last": {"", clean, [2]string{none, ""}, both, false, time.Second},
		"it had problems":             {"", bad, [2]string{none, none}, nil, false, time.Second},
		"it has published nothing":    {"", nil, [2]string{none, none}, nil, false, time.Second},
		"it has published of this":    {"", &published{version: 2}, [2]string{none, none}, nil, true, 0},
		"another server":              {"other", clean, [2]string{none, none}, nil, false, time.Second},
	} {
		bubble(t, func(t *testing.T) {
			server := c.server
			if server == "" {
				server = "typescript-language-server"
			}
			l, p := newPeer(t, server, func(_, params string) string {
				if strings.Contains(params, syntactic) {
					return c.answers[0]
				}
				return c.answers[1]
			})
			d := doc("a.toy", 2)
			if c.known != nil {
				l.problems[d.at.Path] = c.known
			}
			time.Sleep(time.Nanosecond)
			began, event := time.Now(), l.event
			done, err := l.checked(t.Context(), time.Second, d)
			require.NoError(t, err, name)
			require.Equal(t, c.done, done, name)
			require.Equal(t, c.after, time.Since(began), name)
			var want []string
			for _, kind := range c.asked {
				want = append(want, `workspace/executeCommand {"command":"typescript.tsserverRequest","arguments":["`+kind+`",{"file":"ROOT/a.toy"}]}`)
			}
			heard := p.heard()
			require.Equal(t, want, heard[:min(len(heard), len(want))], name)
			for _, line := range heard[len(want):] {
				require.True(t, strings.HasPrefix(line, "$/cancelRequest "), "%s: %s", name, line)
			}
			if c.done && c.asked != nil {
				require.Equal(t, &published{path: d.at.Path, at: began}, l.problems[d.at.Path], name)
				require.NotEqual(t, event, l.event, "those who wait are woken")
			} else {
				require.Equal(t, c.known, l.problems[d.at.Path], name)
			}
		})
	}
	bubble(t, func(t *testing.T) {
		l, p := newPeer(t, "typescript-language-server", func(_, params string) string { return none })
		one, two, three := doc("one.toy", 2), doc("two.toy", 2), doc("three.toy", 2)
		l.problems[one.at.Path], l.problems[two.at.Path], l.problems[three.at.Path] = bad, clean, clean
		time.Sleep(time.Nanosecond)
		l.checkSilent(t.Context(), time.Second, []*document{one, two, three})
		require.Len(t, p.heard(), 4, "each document that had none")
	})
}

// A server that is asked for problems is asked about the documents of a call, and then about sixteen
// others that it has open, those first that were used last.
func TestServersAreAskedForProblems(t *testing.T) {
	const full, same = `"result":{"kind":"full","items":[{"message":"bad"}]}`, `"result":{"kind":"unchanged"}`
	bubble(t, func(t *testing.T) {
		answer := func(params string) string { return full }
		l, p := newPeer(t, "fake", func(_, params string) string { return answer(params) })
		l.can.DiagnosticProvider = []byte("{}")
		var docs []*document
		for i := range 20 {
			d := doc(fmt.Sprintf("f%02d.toy", i), int32(i+1))
			docs = append(docs, d)
			l.docs[d.at.Path], l.recent = d, append(l.recent, d.at.Path)
		}
		asked := func(i int) string {
			return fmt.Sprintf(`textDocument/diagnostic {"textDocument":{"uri":"ROOT/f%02d.toy"}}`, i)
		}
		var want []string
		for _, i := range []int{5, 18, 19, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 4, 3, 2} {
			want = append(want, asked(i))
		}
		began := time.Now()
		done, err := l.checked(t.Context(), time.Second, docs[5], docs[18])
		require.NoError(t, err)
		require.True(t, done)
		require.Zero(t, time.Since(began))
		require.Equal(t, want, p.heard())
		require.Len(t, l.problems, 18)
		require.Equal(t, &published{
			path: "/project/f05.toy", version: 6, at: began, items: []lsp.Diagnostic{{Message: "bad", Severity: lsp.SeverityError}},
		}, l.problems["/project/f05.toy"])

		l.recent, l.problems = nil, map[string]*published{}
		answer = func(params string) string { return same }
		done, err = l.checked(t.Context(), time.Second, docs[0], docs[1])
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, []string{asked(0), asked(1)}, p.heard())
		require.Empty(t, l.problems, "unchanged problems are kept as they are")

		answer = func(params string) string {
			if strings.Contains(params, "f01") {
				return ""
			}
			return full
		}
		began = time.Now()
		done, err = l.checked(t.Context(), time.Second, docs[0], docs[1], docs[2])
		require.NoError(t, err)
		require.False(t, done)
		require.Equal(t, time.Second, time.Since(began))
		require.Len(t, l.problems, 1, "what was known in time is kept")
		require.Equal(t, []string{asked(0), asked(1)}, p.heard()[:2])

		answer = func(params string) string { return `"error":{"code":1,"message":"because"}` }
		done, err = l.checked(t.Context(), time.Second, docs[0], docs[1])
		require.EqualError(t, err, "because (code 1)")
		require.False(t, done)
		require.Equal(t, []string{asked(0)}, p.heard())

		answer = func(params string) string { return "" }
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(because) })
		began = time.Now()
		done, err = l.checked(ctx, time.Second, docs[0])
		require.Equal(t, because, err)
		require.False(t, done)
		require.Equal(t, time.Millisecond, time.Since(began))

		l.syncing <- struct{}{} // documents are being sent
		p.heard()
		began = time.Now()
		done, err = l.checked(t.Context(), time.Second, docs[0])
		require.NoError(t, err)
		require.False(t, done)
		require.Equal(t, time.Second, time.Since(began))
		_, err = l.opened(ctx, docs[0].at.Path)
		require.Equal(t, because, err)
		require.Empty(t, p.heard())
		<-l.syncing
		d, err := l.opened(t.Context(), docs[0].at.Path)
		require.NoError(t, err)
		require.Same(t, docs[0], d)
		require.Empty(t, l.syncing, "others may send documents again")
	})
}
