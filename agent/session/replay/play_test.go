// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/toolset"
)

var (
	sessions = flag.Int("replay-sessions", 60, "how many random sessions become recordings")
	kills    = flag.Int("replay-kills", 40, "how many of them are cut at random")
)

// playAll fills a recording, stores it, and plays it. It returns how many turns there are.
func playAll(t *testing.T, st session.Store, seed uint64) int {
	r, err := replay.Make(t.Context(), st, "s", replay.Options{})
	require.NoError(t, err, "seed %d", seed)
	for i := range r.Turns {
		s := r.Stage(i)
		a := newAgent(newDice(1), s.Model(), port(t, newDice(1)))
		err := replay.Fill(t.Context(), r, i, a, none{}, replay.PlayOptions{})
		if err != nil {
			text, _ := json.MarshalIndent(r.Turns[i], "", " ")
			t.Logf("seed %d: turn %d: %v\n%s", seed, i+1, err, text)
			for at := range r.Messages {
				text, _ := json.Marshal(r.Messages[at])
				t.Logf("%d: %s", at, text)
			}
			t.FailNow()
		}
	}
	file := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, r.Clean())
	require.NoError(t, r.Save(file))
	r, err = replay.Load(file)
	require.NoError(t, err)
	for i := range r.Turns {
		s := r.Stage(i)
		tools, err := replay.ToolsOf[none](s, portTools...)
		require.NoError(t, err)
		a := newAgent(newDice(2), s.Model(), toolset.Of(tools...))
		require.NoError(t, replay.Play(t.Context(), r, i, a, none{}, replay.PlayOptions{}), "seed %d", seed)
	}
	return len(r.Turns)
}

func TestSessionsPass(t *testing.T) {
	turns := 0
	seeds := []uint64{615} // a prompt in the place of an answer, stopped before the model was asked
	for seed := range uint64(*sessions) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		bubble(t, func(t *testing.T) {
			st := &store{Memory: new(session.Memory)}
			d := newDice(seed)
			talk(t, d, st, 4)
			turns += playAll(t, st, seed)
		})
	}
	t.Logf("%d turns", turns)
}

func TestKilledSessionsPass(t *testing.T) {
	for seed := range uint64(*kills) {
		bubble(t, func(t *testing.T) {
			st := &store{Memory: new(session.Memory)}
			d := newDice(seed + 1000)
			talk(t, d, st, 3)
			cut := st.cut(t, 1+d.n(len(st.batches)))
			talk(t, d, cut, 2)
			playAll(t, cut, seed)
		})
	}
}
