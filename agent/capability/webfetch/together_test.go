// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
)

// TestPagesReadAtTheSameTimeAreKeptOnce reads a page twice at the same time. It takes the room of one page in the cache.
func TestPagesReadAtTheSameTimeAreKeptOnce(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	var both sync.WaitGroup
	both.Add(2)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		n := asked[r.URL.Path]
		mu.Unlock()
		if r.URL.Path == "/twice" && n <= 2 {
			both.Done()
			both.Wait()
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", 6<<20))
	})
	steps := [][]string{{"/twice", "/twice"}, {"/other"}, {"/twice"}, {"/other"}}
	m := model.Func(model.Info{Provider: "test", Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		if len(steps) == 0 {
			return model.Response(model.Text("done")), nil
		}
		msg := model.Response()
		for i, path := range steps[0] {
			msg.Parts = append(msg.Parts, model.ToolCall(path+string(rune('a'+i)), webfetch.ToolFetch, argsOf(s.url("page.test", path), 0)))
		}
		steps = steps[1:]
		return msg, nil
	})
	o := s.options()
	o.MaxBytes = 8 << 20
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](o)}}))
	_, err := a.Run(t.Context(), struct{}{}, "go")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"/twice": 2, "/other": 1}, asked)
}
