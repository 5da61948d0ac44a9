// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"flag"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/toolset"
)

var large = flag.Int("large", 0, "how many MB a session has that is opened")

// peak returns the most memory that objects have while f runs. Garbage is collected soon.
func peak(f func()) (most uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	in := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	runtime.GC()
	before := in()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			most = max(most, in())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-ended
	return most - before
}

// TestLargeSessionsTakeLessThanTwiceTheirBytes opens a session whose tools have returned much.
func TestLargeSessionsTakeLessThanTwiceTheirBytes(t *testing.T) {
	if *large == 0 {
		t.Skip("takes seconds: use -large 50")
	}
	store, err := sqlitestore.Open(t.TempDir(), sqlitestore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	words := func(bytes int) string { return strings.Repeat("a line of a \"text\"\n", bytes/19) }
	config := host.Config[struct{}, string]{Store: store, Agent: agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if req.Messages[len(req.Messages)-1].Parts[0].Kind == model.PartToolReturn {
				return model.Response(model.Text(words(50_000))), nil
			}
			var calls []model.Part
			for range 4 {
				calls = append(calls, model.ToolCall("", "read", `{}`))
			}
			return model.Response(calls...), nil
		}),
		Tools: []*toolset.Tool[struct{}]{toolset.Plain[struct{}]("read", "", func(context.Context, struct{}) (string, error) { return words(100_000), nil })},
	}))}
	open := func(do func(s *host.Session)) {
		h, err := host.New(config)
		require.NoError(t, err)
		defer func() { require.NoError(t, h.Close(t.Context())) }()
		s, err := h.Open(t.Context(), "large", nil)
		if err != nil {
			s, err = h.Create(t.Context(), session.New{ID: "large"}, nil)
		}
		require.NoError(t, err)
		do(s)
	}
	open(func(s *host.Session) {
		for range *large * 2 {
			_, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(words(10_000))}})
			require.NoError(t, err)
		}
	})
	info, err := store.Get(t.Context(), "large")
	require.NoError(t, err)
	most := peak(func() { open(func(*host.Session) {}) })
	t.Logf("a session of %d bytes took %d at most: %.2f times", info.Size, most, float64(most)/float64(info.Size))
	require.Less(t, most, 2*uint64(info.Size))
}
