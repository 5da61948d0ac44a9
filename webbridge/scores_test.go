// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge"
)

// board keeps scores in memory.
type board struct {
	mu   sync.Mutex
	all  map[string][]webbridge.Score
	away bool
}

func (b *board) Mark(_ context.Context, session, turn, user string, good bool, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := webbridge.Score{Turn: turn, By: user, Mark: true, Name: "people", Reason: why}
	if good {
		s.Value = 1
	}
	kept := slices.DeleteFunc(b.all[session], func(o webbridge.Score) bool {
		return o.Mark && o.By == user && o.Turn == turn
	})
	b.all[session] = append(kept, s)
	return nil
}

func (b *board) Of(_ context.Context, session string) ([]webbridge.Score, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all[session]), nil
}

func (b *board) Summary(_ context.Context, session string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return "", errors.New("the store is away")
	}
	return strings.Repeat("*", len(b.all[session])), nil
}

// TestAnswersAreMarked marks answers as good and bad, as their users and as others.
func TestAnswersAreMarked(t *testing.T) {
	b := &board{all: map[string][]webbridge.Score{}}
	log := new(bytes.Buffer)
	s := serve(t, options{Options: webbridge.Options{
		Scores: b, Logger: slog.New(slog.NewTextHandler(log, nil)),
		User: func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil },
	}})
	ada, bob := s.as("ada"), s.as("bob")
	require.Equal(t, true, ada.do("GET", "/api/config", nil, 200)["scores"])
	path := ada.create()
	id := strings.TrimPrefix(path, "/api/sessions/")
	var marks []string
	for _, text := range []string{"one", "two"} {
		f := ada.follow(path, "")
		turn := ada.do("POST", path+"/prompts", say(text), 202)["turn"].(string)
		f.until(f.has("You said " + text))
		f.until(func() bool { return !f.running })
		marks = append(marks, path+"/scores/"+url.PathEscape("prompt:"+turn))
	}
	require.Equal(t, []any{}, ada.do("GET", path+"/scores", nil, 200)["scores"])
	require.Equal(t, object{}, ada.do("GET", "/api/sessions", nil, 200)["scores"])
	ada.do("PUT", marks[0], object{"good": true}, 204)
	ada.do("PUT", marks[1], object{"good": true}, 204)
	ada.do("PUT", marks[1], object{"good": false, "reason": "it lied"}, 204)
	require.NoError(t, b.Mark(t.Context(), id, "t", "nightly", true, ""))
	all := ada.do("GET", path+"/scores", nil, 200)["scores"].([]any)
	require.Len(t, all, 3)
	var bad object = all[1].(object)
	require.Equal(t, object{
		"prompt": strings.TrimPrefix(marks[1], path+"/scores/"), "mine": true, "by": "ada", "mark": true,
		"name": "people", "value": 0., "reason": "it lied",
	}, bad)
	require.Equal(t, false, all[2].(object)["mine"])
	require.Equal(t, object{id: "***"}, ada.do("GET", "/api/sessions", nil, 200)["scores"])

	good, long := object{"good": true}, object{"good": true, "reason": strings.Repeat("x", 2001)}
	require.Equal(t, "not_found", bob.refused("GET", path+"/scores", nil, 404), "it is not his")
	require.Equal(t, "not_found", bob.refused("PUT", marks[0], good, 404))
	require.Equal(t, "not_found", ada.refused("PUT", path+"/scores/prompt:x", good, 404))
	require.Equal(t, "not_found", ada.refused("PUT", "/api/sessions/none/scores/prompt:x", good, 404))
	require.Equal(t, "invalid", ada.refused("PUT", marks[0], object{}, 400))
	require.Equal(t, "too_large", ada.refused("PUT", marks[0], long, 413))
	ada.do("PUT", marks[0], object{"good": true, "reason": strings.Repeat("x", 2000)}, 204)
	require.Len(t, b.all[id], 3)

	b.away = true
	listed := ada.do("GET", "/api/sessions", nil, 200)
	require.Len(t, listed["sessions"], 1)
	require.Equal(t, object{}, listed["scores"])
	require.Contains(t, log.String(), "scores cannot be read")
}

// TestServersWithoutScoresSaySo asks a server that has none.
func TestServersWithoutScoresSaySo(t *testing.T) {
	s := serve(t, options{})
	path := s.create()
	require.Equal(t, false, s.do("GET", "/api/config", nil, 200)["scores"])
	require.Equal(t, "not_found", s.refused("GET", path+"/scores", nil, 404))
	require.Equal(t, "not_found", s.refused("PUT", path+"/scores/prompt:x", object{"good": true}, 404))
}
