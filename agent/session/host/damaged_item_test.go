// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/sealtest"
)

// plant puts an item into the inbox of a session which whoever decrypts it takes for damaged.
func plant(t *testing.T, inner session.Store, id, item string, kind session.ItemKind) {
	t.Helper()
	i := session.Item{ID: item, Kind: kind, By: "planted", Data: []byte(`{}`)}
	_, err := inner.Put(t.Context(), id, i)
	require.NoError(t, err)
}

// A damaged item, whatever it was, keeps no prompt of the same inbox from being shown or run. It is
// logged once.
func TestADamagedItemLeavesThePromptsOfItsInbox(t *testing.T) {
	for _, kind := range []session.ItemKind{session.ItemPrompt, session.ItemNote} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			inner := new(session.Memory)
			store, err := session.Encrypted(inner, sealtest.Ring())
			require.NoError(t, err)
			info, err := store.Create(t.Context(), session.New{})
			require.NoError(t, err)
			plant(t, inner, info.ID, "first", kind)
			for _, text := range []string{"one", "two"} {
				_, err = store.Put(t.Context(), info.ID, session.Item{
					ID: text, Kind: session.ItemPrompt, Time: time.Now().Add(-time.Minute),
					Data: []byte(`{"parts":[{"kind":"user","text":"` + text + `"}]}`),
				})
				require.NoError(t, err)
				plant(t, inner, info.ID, "after "+text, kind)
			}
			all, err := session.Waiting(t.Context(), store, info.ID)
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.Len(t, all, 2)
			var log bytes.Buffer
			h := newHost(t, host.Config[none, string]{
				Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			s, err := h.Open(t.Context(), info.ID, nil)
			require.NoError(t, err)
			_, err = s.Waiting(t.Context())
			require.NoError(t, err)
			stop := serve(t, h)
			eventually(t, "they run", func() bool {
				all, _ := session.Waiting(t.Context(), store, info.ID)
				return len(all) == 0
			})
			eventually(t, "they are answered", func() bool {
				return strings.Contains(shown(t, s), "II two")
			})
			stop()
			require.Equal(t, 1, strings.Count(log.String(), "an item of the inbox is damaged"))
		})
	}
}

// planting is a store in which each item is followed by one that is damaged.
type planting struct{ *session.Memory }

func (p planting) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	put, err := p.Memory.Put(ctx, id, i)
	if err == nil {
		_, err = p.Memory.Put(ctx, id, session.Item{ID: "after " + put.ID, Kind: "note", By: "planted"})
	}
	return put, err
}

// A prompt that waits for its turn, and a setting for whoever has the session, are found before a
// damaged item.
func TestADamagedItemLeavesWhatIsSent(t *testing.T) {
	store, err := session.Encrypted(planting{new(session.Memory)}, sealtest.Ring())
	require.NoError(t, err)
	g := newGate()
	open := func(name string) *host.Host {
		return newHost(t, host.Config[none, string]{
			Agent: newAgent(g.model()), Store: store, Holder: name, Settings: []host.Setting{
				{Setting: view.Setting{ID: "fast", Value: "false", Switch: true}},
			},
		})
	}
	here := create(t, open("here"))
	there, err := open("there").Open(t.Context(), here.ID(), nil)
	require.NoError(t, err)
	first := runs(t, here, "one")
	require.Equal(t, "one", <-g.asked)
	second := runs(t, here, "two")
	eventually(t, "it waits", func() bool { return len(waitingTexts(t, there)) == 1 })
	_, err = there.Set(t.Context(), "fast", "true")
	require.NoError(t, err)
	g.answer <- "done"
	require.NoError(t, (<-first).Err)
	require.Equal(t, "two", <-g.asked)
	g.answer <- "done"
	require.NoError(t, (<-second).Err)
}

// A turn that was cut off goes on beside a damaged item, unless that was what stops it.
func TestADamagedItemStopsATurnOnlyByItsID(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		inner := new(session.Memory)
		store, err := session.Encrypted(shared{inner}, sealtest.Ring())
		require.NoError(t, err)
		id := cutOff(t, store)
		item := "another"
		if stopped {
			item = stopID(t, store, id)
		}
		plant(t, inner, id, item, session.ItemCancel)
		m := model.Model(echo())
		if stopped {
			m = never(t)
		}
		s := toTakeUp(t, store, id, m)
		stop := serve(t, s.Host())
		if stopped {
			requireStopped(t, s)
		} else {
			eventually(t, "it is answered", func() bool { return strings.Contains(shown(t, s), "I ") })
		}
		stop()
	}
}

// stopID returns the id of the item that stops the first turn of a session.
func stopID(t *testing.T, store session.Store, id string) string {
	t.Helper()
	for e, err := range store.Load(t.Context(), id, 0) {
		require.NoError(t, err)
		if e.Run != "" {
			data, err := json.Marshal(map[string]string{"turn": e.Run})
			require.NoError(t, err)
			sum := sha256.Sum256(data)
			return "cancel-" + hex.EncodeToString(sum[:16])
		}
	}
	require.Fail(t, "no turn")
	return ""
}
