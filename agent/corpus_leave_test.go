// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
)

// TestLeftRunsOfTheCorpusEndAsRecorded plays the last run of scenes again and again. Each time its observer leaves at a later event, or the
// run is cancelled at it.
func TestLeftRunsOfTheCorpusEndAsRecorded(t *testing.T) {
	const path = "testdata/corpus/left/left.txt"
	var all strings.Builder
	for _, s := range readScenes(t, path) {
		fmt.Fprintf(&all, "=== %s\n%s\n%s\n", s.name, strings.Join(s.input, "\n"), dashes)
		ways := []string{"left", "cancelled"}
		if s.asker != nil { // a question that is asked while the run is cancelled may be the last thing that happens, or the one before it
			ways = ways[:1]
		}
		for _, how := range ways {
			before := ""
			for n := 1; ; n++ {
				var text, at string
				synctest.Test(t, func(t *testing.T) { text, at = s.leftAt(t, n, how) })
				if at == "" {
					break
				}
				if text == before {
					fmt.Fprintf(&all, "%s at %d, %s: the same\n", how, n, at)
				} else {
					fmt.Fprintf(&all, "%s at %d, %s: %s", how, n, at, text)
				}
				before = text
			}
		}
		all.WriteString("\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	requireSameScenes(t, string(want), all.String())
}

// leftAt plays a scene up to event n of its last run. It returns how the run ends and what the event was; the latter is empty if there are
// fewer events.
func (s *scene) leftAt(t *testing.T, n int, how string) (text, at string) {
	w := newSetting(t, s)
	a, err := s.agent(w)
	require.NoError(t, err)
	var history []*model.Message
	for i, line := range s.runs {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w.cancel, w.lines = cancel, nil
		prompt, opts := s.options(t, w, i, line, history)
		st := a.Stream(ctx, deps{}, prompt, opts...)
		count := 0
		for e := range st.Events() {
			if i < len(s.runs)-1 {
				continue
			}
			if count++; count == n {
				if at = string(e.Kind); e.CallID != "" {
					at += " of " + e.CallID
				}
				if how == "left" {
					break
				}
				cancel(errors.New("no more"))
			}
		}
		res, err := st.Result()
		if i < len(s.runs)-1 {
			if history = nil; res != nil {
				history = res.Messages
			} else if e := (*agent.RunError)(nil); errors.As(err, &e) {
				history = e.Messages
			}
			continue
		}
		text = numbered(w.brief(res, err))
	}
	return text, at
}
