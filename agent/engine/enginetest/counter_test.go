// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestRemoteConforms has all tasks but the inbox executed as in another process.
func TestRemoteConforms(t *testing.T) {
	for _, fuse := range []bool{false, true} {
		t.Run(fmt.Sprint("fuse ", fuse), func(t *testing.T) {
			enginetest.Conformance(t, enginetest.Harness{Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
				r := enginetest.NewRemote(l.Worker, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
					return engine.Execute(ctx, l.Worker, task, report)
				})
				r.Fuse = fuse
				return r, r.Close
			}})
		})
	}
}

func TestCheckCounter(t *testing.T) {
	counted := func(texts ...string) (all []*model.Message) {
		for _, text := range texts {
			part := model.Part{Kind: model.PartToolReturn}
			part.Text = text
			all = append(all, &model.Message{Parts: []model.Part{model.User("9"), part}})
		}
		return all
	}
	refused := fmt.Errorf("run: %w", &toolset.InMemoryError{})
	for name, c := range map[string]struct {
		messages []*model.Message
		err      error
		requests int
		says     string
	}{
		"kept":            {counted("1", "2"), nil, 2, ""},
		"refused at once": {nil, refused, 0, ""},
		"refused late":    {nil, refused, 1, "the run was refused after 1 requests"},
		"failed":          {nil, errors.New("no model"), 0, "the run has failed, and not with a toolset.InMemoryError: no model"},
		"forgotten":       {counted("1", "1"), nil, 2, "call 2 of the run has counted 1: the engine neither keeps the state of the tool nor refuses it"},
		"one call":        {counted("1"), nil, 2, "the run has 1 calls of the tool, want two at least"},
	} {
		err := enginetest.CheckCounter(c.messages, c.err, c.requests)
		if c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.says, name)
		}
	}
}

func TestCounterCountsForEachRun(t *testing.T) {
	set := enginetest.Counter[struct{}]()
	require.Equal(t, "counter", set.Name())
	for range 2 {
		in, err := set.Open(t.Context(), nil)
		require.NoError(t, err)
		run := &toolset.RunContext[struct{}]{}
		listing, err := in.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Len(t, listing.Tools, 1)
		require.Equal(t, "count", listing.Tools[0].Def.Name)
		for n := range 3 {
			args, err := listing.Tools[0].Decode([]byte("{}"))
			require.NoError(t, err)
			got, err := listing.Tools[0].Call(t.Context(), run, args)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(n+1), got.Text)
		}
	}
}

// TestRunOfTheSuite has the run that engines play.
func TestRunOfTheSuite(t *testing.T) {
	tasks, messages, usage := enginetest.Reference(t)
	goldenFile(t, "testdata/run.txt", strings.Join(tasks, "\n")+"\n"+messages+"\n"+usage+"\n")
}
