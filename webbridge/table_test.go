// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
)

func put(t *testing.T, f *view.Fold, e view.Entity) {
	require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e}))
}

// patient takes what is written, at any time.
type patient struct{ discard }

func (patient) SetWriteDeadline(time.Time) error { return nil }

func TestStreamedTextIsWrittenWithoutAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has pools forget what they keep, and allocates: run it without -race")
	}
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	for name, show := range h.Tables(patient{discard{http.Header{}}}) {
		var f view.Fold
		c := f.Cursor(nil)
		show(c)
		put(t, &f, view.Entity{ID: "message:r/1", Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "x"}}})
		show(c)
		const n = 10_000
		allocs := testing.AllocsPerRun(5, func() {
			for range n {
				_ = f.Apply(view.Change{Op: view.Append, ID: "message:r/1", Text: "a few more <words> "})
				show(c)
			}
		})
		require.Less(t, allocs/n, 0.02, name)
	}
}

// written keeps what is written.
type written struct {
	discard
	bytes.Buffer
}

func (w *written) Write(data []byte) (int, error) { return w.Buffer.Write(data) }

// A conversation that is read again is shown to a client that has seen a part of it as if nothing had happened.
func TestConversationThatIsReadAgainIsShownOnce(t *testing.T) {
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	message := view.Entity{ID: "message:r/1", Kind: view.Message, Role: view.Assistant, Content: []view.Content{{Kind: view.Text, Text: "one "}}}
	for _, name := range []string{"UI message stream", "AG-UI"} {
		w := &written{discard: discard{http.Header{}}}
		show := h.Tables(w)[name]
		var before, again view.Fold
		c := before.Cursor(nil)
		show(c)
		put(t, &before, message)
		put(t, &before, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 7}})
		show(c)
		put(t, &again, view.Entity{ID: "usage", Kind: view.Usage, Usage: &view.Tokens{Used: 7}})
		put(t, &again, message)
		require.NoError(t, again.Apply(view.Change{Op: view.Append, ID: message.ID, Text: "two"}))
		w.Reset()
		show(again.CursorFrom(before.Snapshot()))
		require.NotContains(t, w.String(), "one", name)
		require.Equal(t, 1, bytes.Count(w.Bytes(), []byte("data: ")), "%s: %s", name, w.String())
		require.Contains(t, w.String(), `"delta":"two"`, name)
	}
}

// A kind of entity that a protocol of browsers has no words for is shown under its own name.
func TestNewKindsOfEntitiesAreShownUnderTheirNames(t *testing.T) {
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	for name, want := range map[string]string{
		"UI message stream": `"type":"data-weather"`, "AG-UI": `"activityType":"WEATHER"`, "JSON API": `"kind":"weather"`,
	} {
		w := &written{discard: discard{http.Header{}}}
		show := h.Tables(w)[name]
		var f view.Fold
		c := f.Cursor(nil)
		show(c)
		put(t, &f, view.Entity{ID: "weather:1", Kind: "weather", Title: "Rain in Lima"})
		show(c)
		require.Contains(t, w.String(), want, name)
		require.Contains(t, w.String(), "Rain in Lima", name)
	}
}
