// SPDX-License-Identifier: Apache-2.0

package sealtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/sealtest"
)

// Secrets are found in the clear and as digits, and each is told once.
func TestSecretsAreFound(t *testing.T) {
	secrets := []string{"planted-1", "planted-2", "planted-3"}
	require.Nil(t, sealtest.Find(secrets, []byte("planted-")))
	require.Equal(t, []string{"planted-1", "planted-3"}, sealtest.Find(secrets, fmt.Appendf(nil, "..planted-3..%x..planted-3", "planted-1")))
}

func TestTheRingIsAlwaysTheSame(t *testing.T) {
	ring := sealtest.Ring()
	require.Equal(t, sealtest.Ring(), ring)
	require.Equal(t, "k1", ring.Keys[0].ID)
	require.Equal(t, strings.Repeat("\x01", 32), string(ring.Keys[0].Secret))
	require.Equal(t, strings.Repeat("\x02", 32), string(ring.Index))
}

// Conversations end in each way, and each text that is said is in the store.
func TestConversationsHaveSecretsEverywhere(t *testing.T) {
	store := new(session.Memory)
	secrets := sealtest.Converse(t, store)
	ctx := context.Background()
	var all []string
	page, err := store.List(ctx, session.Query{Limit: 100})
	require.NoError(t, err)
	large := 0
	for _, info := range page.Sessions {
		data, err := json.Marshal(info)
		require.NoError(t, err)
		all = append(all, string(data))
		for e, err := range store.Load(ctx, info.ID, 0) {
			require.NoError(t, err)
			data, err := json.Marshal(e)
			require.NoError(t, err)
			all = append(all, string(data))
			if len(e.Data) > 200_000 {
				large++
			}
		}
		for i, err := range store.Items(ctx, info.ID, -1) {
			require.NoError(t, err)
			data, err := json.Marshal(i)
			require.NoError(t, err)
			all = append(all, string(data))
		}
	}
	require.GreaterOrEqual(t, len(page.Sessions), 8)
	require.Positive(t, large, "some results are large")
	text := []byte(strings.Join(all, "\n"))
	found := sealtest.Find(secrets, text)
	named := func(secrets []string) map[string]int {
		n := map[string]int{}
		for _, s := range secrets {
			n[regexp.MustCompile(`^planted-\d{3}-`).ReplaceAllString(s, "")]++
		}
		return n
	}
	counts := named(secrets)
	for i, secret := range secrets {
		require.True(t, strings.HasPrefix(secret, fmt.Sprintf("planted-%03d-", i)), secret)
	}
	require.Equal(t, map[string]int{
		"fork": 1, "owner of a fork": 1, "setting": 1, "title": 8, "directory": 8, "owner": 8, "tenant": 8, "value": 8, "prompt to say": 8, "answer": 7, "new title": 6, "sender": 6, "digest": 6, "note": 6,
		"prompt to fail": 1, "error of the model": 1, "prompt to act": 1, "argument of act": 1, "result": 1, "thought": 2, "answer after a tool": 2,
		"prompt to break": 1, "argument of break": 1, "failure of a tool": 1, "prompt to crash": 1, "argument of crash": 1, "error of a tool": 1,
		"prompt to ask": 1, "argument of ask": 1, "approval": 1, "reason": 1, "scope": 1, "scope title": 1,
		"prompt to block": 2, "argument of block": 2, "cancelled tool": 1,
	}, counts)
	missing := map[string]int{}
	for _, s := range secrets {
		if !slices.Contains(found, s) {
			for name := range named([]string{s}) {
				missing[name]++
			}
		}
	}
	for name := range missing {
		require.Contains(t, []string{"title", "fork", "owner of a fork", "cancelled tool", "error of the model", "error of a tool", "argument of block"}, name, "what is said is in the store: %v", missing)
	}
}
