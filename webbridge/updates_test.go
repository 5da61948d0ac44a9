// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

// TestUpdatesAreWhole compares the bytes of updates: of every change, also one that has no JSON form, and of large ones.
func TestUpdatesAreWhole(t *testing.T) {
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	w := &written{discard: discard{http.Header{}}}
	update := func(reset bool, from, to string, news ...view.Delta) string {
		w.Reset()
		require.Equal(t, to, h.Update(w, news, reset, from, to))
		return w.String()
	}
	upsert := func(e view.Entity) view.Delta { return view.Delta{Op: view.Upsert, ID: e.ID, Kind: e.Kind, Entity: &e} }
	said := func(text string) view.Delta {
		return view.Delta{Op: view.Append, ID: "m", Kind: view.Message, Text: text}
	}
	require.Equal(t, "text/event-stream", func() string { update(false, "", ""); return w.Header().Get("Content-Type") }())
	require.Equal(t, "event: update\ndata: {\"changes\":[],\"position\":\"p.1\",\"reset\":true}\nid: p.1\n\n", update(true, "p.0", "p.1"))
	require.Equal(t, `event: update
data: {"changes":[{"op":"upsert","id":"a\"b","entity":{"id":"a\"b","kind":"notice","title":"T"}},{"op":"append","id":"m","text":"<x>"},`+
		`{"op":"append","id":"m","content":[{"kind":"image","data":"AAAA"}]},{"op":"append","id":"m"},{"op":"remove","id":"m"},`+
		`{"op":"append","id":"invalid"},{"op":"remove","id":"n"}],"position":"p.1","reset":false}
id: p.1

`, update(false, "p.0", "p.1", upsert(view.Entity{ID: `a"b`, Kind: view.Notice, Title: "T"}), said("<x>"),
		view.Delta{Op: view.Append, ID: "m", Content: []view.Content{{Kind: view.Image, Data: "AAAA"}}}, said(""), view.Delta{Op: view.Remove, ID: "m"},
		upsert(view.Entity{ID: "call:r/1/a", Kind: view.ToolCall, Input: json.RawMessage("{")}), view.Delta{Op: view.Remove, ID: "n"}))

	// An event takes changes while it has less than 64 KiB.
	begin := len("event: update\ndata: {\"changes\":[") + len(`{"op":"append","id":"m","text":""}`)
	for length, events := range map[int]int{64<<10 - 1: 1, 64 << 10: 2} {
		text := strings.Repeat("x", length-begin)
		got := update(true, "p.0", "p.1", said(text), said("more"))
		all := strings.SplitAfter(strings.TrimSuffix(got, "\n\n"), "\n\n")
		require.Len(t, all, events)
		first := `event: update` + "\n" + `data: {"changes":[{"op":"append","id":"m","text":"` + text + `"}`
		const second = `{"op":"append","id":"m","text":"more"}],"position":"p.1","reset":`
		if events == 1 {
			require.Equal(t, first+`,`+second+"true}\nid: p.1\n\n", got)
		} else {
			require.Equal(t, first+`],"position":"p.0","reset":true}`+"\n\n", all[0], "the client stays where it was")
			require.Equal(t, "event: update\ndata: {\"changes\":["+second+"false}\nid: p.1", all[1])
		}
	}
}

// breaking is a client that is gone after some writes.
type breaking struct {
	discard
	writes, after int
}

func (b *breaking) Write(data []byte) (int, error) {
	if b.writes++; b.writes > b.after {
		return 0, errors.New("the client is gone")
	}
	return len(data), nil
}

// TestNothingIsWrittenToWhoIsGone has a client that is gone in the middle of a large update.
func TestNothingIsWrittenToWhoIsGone(t *testing.T) {
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	large := view.Delta{Op: view.Append, ID: "m", Text: strings.Repeat("x", 64<<10)}
	for after := range 3 {
		w := &breaking{discard: discard{http.Header{}}, after: after}
		h.Update(w, []view.Delta{large, large, large}, false, "", "p.1")
		require.Equal(t, after+1, w.writes)
	}
	before := metrics(h)
	require.NotContains(t, before, "ponte_web_sent_bytes_total 0\n")
	w := &written{discard: discard{http.Header{}}}
	h.Update(w, []view.Delta{large}, false, "", "p.1")
	sent := func(text string) (n int) {
		_, rest, _ := strings.Cut(text, "\nponte_web_sent_bytes_total ")
		_, err := fmt.Sscan(rest, &n)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, sent(before)+w.Len(), sent(metrics(h)), "all that is sent is counted")
}

// TestOutputOfCommandsIsShownByItsEnd has outputs around 4 KiB, which is what streams of browsers show of them. A character is not cut
// in two.
func TestOutputOfCommandsIsShownByItsEnd(t *testing.T) {
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ output, shown string }{
		{x(4096), x(4096)}, {"a" + x(4095), "a" + x(4095)}, {"a" + x(4096), x(4096)}, {"ü" + x(4095), x(4095)}, {"ab" + x(4095), "b" + x(4095)},
	} {
		var f view.Fold
		all := map[string]*written{}
		shows := map[string]func(*view.Cursor) bool{}
		for name := range h.Tables(discard{http.Header{}}) {
			all[name] = &written{discard: discard{http.Header{}}}
			shows[name] = h.Tables(all[name])[name]
		}
		put(t, &f, view.Entity{ID: "command:1", Kind: view.Command, Title: "make", Content: []view.Content{{Kind: view.Text, Text: c.output}}})
		for name, show := range shows {
			show(f.Cursor(nil))
			want := `"output":"` + c.shown + `"`
			if name == "JSON API" {
				want = `"text":"` + c.output + `"`
			}
			require.Contains(t, all[name].String(), want, name)
		}
	}
}
