// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// FuzzRecords: whatever the records of a run say, it comes to its output, or to an error, without a panic; and if it comes
// to its output, it does so again without asking anybody.
func FuzzRecords(f *testing.F) {
	records := twoSteps(f)
	for n := range len(records) + 1 {
		f.Add([]byte(strings.Join(records[:n], "\n")), uint8(n))
		f.Add([]byte(strings.Join(records[n:], "\n")), uint8(n))
	}
	_, _, all := whole(f, new(journal.Memory))
	f.Add([]byte(strings.Join(all, "\n")), uint8(1))
	f.Add([]byte(`{"op":"history","step":1,"messages":1,"history":[{"from":0,"to":1},{"message":{"v":1,"kind":"request"}}]}`), uint8(1))
	f.Add([]byte(`{"op":"output","step":1,"again":true}`), uint8(2))
	one, two := counted("one", new(int), says("1")), counted("two", new(int), says("2"))
	f.Fuzz(func(t *testing.T, data []byte, keep uint8) {
		// The records that are fuzzed follow those that are right.
		lines := append([]string{}, records[:min(int(keep), len(records))]...)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			if len(line) > 0 && bytes.IndexByte(line, 0) < 0 {
				lines = append(lines, string(line))
			}
		}
		j := journalOf(t, lines...)
		steps := []modeltest.Step{calls("one", "two"), modeltest.SayText("ok"), modeltest.SayText("ok")}
		res, err := newAgent(t, config{}, modeltest.Script(steps...), one, two).Run(t.Context(), none{}, "go", withRun(j)...)
		if err != nil {
			return
		}
		again, err := newAgent(t, config{}, model.Model(modeltest.Script()), one, two).Run(t.Context(), none{}, "go", withRun(j)...)
		if errors.Is(err, journal.ErrDiverged) || errors.Is(err, journal.ErrCorrupt) {
			return // what was left of the records of another run came to be in the way
		}
		require.NoError(t, err)
		require.Equal(t, res.Output, again.Output)
	})
}
