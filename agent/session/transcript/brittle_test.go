// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

var errFire = errors.New("the disk is on fire")

// brittle is a store that fails at one append, counted from 1.
type brittle struct {
	*session.Memory
	at, appends int
}

func (b *brittle) Append(ctx context.Context, l session.Lease, head int64, batch session.Batch) (int64, error) {
	if b.appends++; b.appends == b.at {
		return 0, errFire
	}
	return b.Memory.Append(ctx, l, head, batch)
}

// writings are what writes to a session that was cut off.
var writings = []struct {
	name string
	do   func(ctx context.Context, c *transcript.Conversation) error
}{
	{"settle", func(ctx context.Context, c *transcript.Conversation) error { return c.Settle(ctx) }},
	{"doubt", func(ctx context.Context, c *transcript.Conversation) error {
		c.Doubt()
		return c.Settle(ctx)
	}},
	{"attempt", func(ctx context.Context, c *transcript.Conversation) error { return c.Attempt(ctx) }},
	{"resume", func(ctx context.Context, c *transcript.Conversation) error {
		now, err := c.Resume(ctx)
		if err != nil {
			return err
		}
		m := model.Response(model.Text("Well."))
		m.RunID = now.ID()
		return now.Finish(ctx, append(c.Messages(), m), transcript.Done)
	}},
	{"begin", func(ctx context.Context, c *transcript.Conversation) error {
		now, err := c.BeginAs(ctx, transcript.Prompt{Turn: "next", Parts: []model.Part{model.User("Well?")}})
		if err != nil {
			return err
		}
		m := model.Response(model.Text("Well."))
		m.RunID = now.ID()
		return now.Finish(ctx, append(c.Messages(), m), transcript.Done)
	}},
	{"begin with answers", func(ctx context.Context, c *transcript.Conversation) error {
		c.Doubt()
		if err := c.Settle(ctx); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		var given agent.DeferredResults
		calls := agent.PendingCalls(c.Messages())
		for i := range calls {
			given.Decide(calls[i].Key(), toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "no", By: "user"})
			if err := c.Answer(ctx, &calls[i], given); err != nil {
				return fmt.Errorf("answer %d: %w", i, err)
			}
		}
		now, err := c.BeginAs(ctx, transcript.Prompt{Turn: "next", Answers: &given})
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		return now.Finish(ctx, c.Messages(), transcript.Cancelled)
	}},
	{"rewind", func(ctx context.Context, c *transcript.Conversation) error {
		_, err := c.Rewind(ctx, cmp.Or(c.Interrupted(), "t1"))
		return err
	}},
	{"keep", func(ctx context.Context, c *transcript.Conversation) error {
		c.Notice("info", "A notice.")
		c.Say("Said.")
		return c.Keep(ctx)
	}},
	{"begin nothing", func(ctx context.Context, c *transcript.Conversation) error {
		_, err := c.BeginAs(ctx, transcript.Prompt{Turn: "a/b", Parts: []model.Part{model.User("Well?")}})
		return err
	}},
}

// TestAppendsThatFail cuts sessions off behind each of their entries, and has each writing fail at its appends. What it says, and what it and another
// process show then, is in testdata.
func TestAppendsThatFail(t *testing.T) {
	var b strings.Builder
	perform := func(t *testing.T, log []session.Entry, name string, do func(ctx context.Context, c *transcript.Conversation) error, at int) (more bool) {
		m := &brittle{Memory: new(session.Memory), at: -1}
		_, err := m.Create(t.Context(), session.New{ID: "s"})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), m, "s", session.Claim{})
		require.NoError(t, err)
		if len(log) > 0 {
			_, err = w.Append(t.Context(), log...)
			require.NoError(t, err)
		}
		c, err := transcript.Open(t.Context(), w, options)
		require.NoError(t, err)
		before := state(t, c)
		m.at, m.appends = at, 0
		failed := do(t.Context(), c)
		after := state(t, c)
		h, err := transcript.Read(t.Context(), m, "s", options)
		read := fmt.Sprint(err)
		if err == nil {
			w, err := session.Open(t.Context(), m.Memory, "s", session.Claim{Force: true})
			require.NoError(t, err)
			other, err := transcript.Open(t.Context(), w, options)
			require.NoError(t, err)
			read = fmt.Sprintf("%d %08x", len(h.Messages()), crc32.ChecksumIEEE([]byte(state(t, other))))
		}
		fmt.Fprintf(&b, "%d entries, %s, append %d of %d: %v, %d lines change, %08x, others: %s\n", len(log), name, at, m.appends, failed, strings.Count(changes(before, after), "\n"), crc32.ChecksumIEEE([]byte(after)), read)
		return m.appends >= at
	}
	for _, seed := range []dice{10, 17} {
		log := logged(t, seed)
		for n := range len(log) + 1 {
			for _, w := range writings {
				for at := 1; ; at++ {
					more := false
					synctest.Test(t, func(t *testing.T) { more = perform(t, log[:n], w.name, w.do, at) })
					if !more {
						break
					}
				}
			}
		}
	}
	path := filepath.Join("testdata", "brittle.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
