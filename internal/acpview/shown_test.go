// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// TestUpdatesOfEditors plays what sessions show, and compares each update that an editor gets. A line of a script is an entity, a change
// of one, or what is done with the client:
//
//	{"id":…}       is shown, or replaces the one with its id
//	+ID "text"     adds a text; +ID {…} adds content
//	-ID            is shown no more
//	options {…}    what the client takes, see acpview.Options
//	skip KIND      the client is not shown this kind
//	saw ID         the client knows the entity as it is
//	fail N         the client refuses the update number N from now
//	show, all      the client is shown what is new; all of it
//	load           a client loads the session
//	since          a client knows what there is
//
// To write what is expected anew, set UPDATE, and read what has changed.
func TestUpdatesOfEditors(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, path := range scripts {
		script, err := os.ReadFile(path)
		require.NoError(t, err)
		var got strings.Builder
		for part := range strings.SplitSeq(string(script), "\n\n") {
			title, _, _ := strings.Cut(part, "\n")
			got.WriteString(title + "\n" + played(t, part) + "\n")
		}
		want := strings.TrimSuffix(path, ".txt") + ".want"
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(want, []byte(got.String()), 0o600))
		}
		expected, err := os.ReadFile(want)
		require.NoError(t, err)
		require.Equal(t, string(expected), got.String(), path)
	}
}

// told is a client that writes down what it is told.
type told struct {
	acp.UnimplementedClient
	t    *testing.T
	b    strings.Builder
	fail int
}

func (c *told) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	data, err := json.Marshal(n)
	require.NoError(c.t, err)
	if c.fail--; c.fail == 0 {
		c.b.WriteString("refused: ")
		err = errors.New("the queue is full")
	}
	c.b.WriteString(strings.TrimSuffix(strings.TrimPrefix(string(data), `{"sessionId":"s","update":`), "}") + "\n")
	return err
}

func played(t *testing.T, script string) string {
	t.Helper()
	var f view.Fold
	var o acpview.Options
	c := &told{t: t}
	var client *acpview.Client
	opened := func() *acpview.Client {
		if client == nil {
			client = acpview.New(c, "s", &f, nil, o)
		}
		return client
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
		case strings.HasPrefix(line, "{"):
			var e view.Entity
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			put(&f, e)
		case strings.HasPrefix(line, "+"):
			change := view.Change{Op: view.Append, ID: word[1:]}
			if json.Unmarshal([]byte(rest), &change.Text) != nil {
				change.Content = make([]view.Content, 1)
				require.NoError(t, json.Unmarshal([]byte(rest), &change.Content[0]), line)
			}
			require.NoError(t, f.Apply(change))
		case strings.HasPrefix(line, "-"):
			require.NoError(t, f.Apply(view.Change{Op: view.Remove, ID: line[1:]}))
		case word == "options":
			require.NoError(t, json.Unmarshal([]byte(rest), &o), line)
		case word == "skip":
			opened().Skip(view.Kind(rest))
		case word == "saw":
			opened().Saw(rest)
		case word == "fail":
			_, err := fmt.Sscan(rest, &c.fail)
			require.NoError(t, err)
		case word == "load":
			client = acpview.New(c, "s", f.Snapshot().Fold(), nil, o)
		case word == "since":
			client = acpview.Since(c, "s", &f, f.Snapshot().Pos(), o)
		case word == "show", word == "all":
			show := opened().Show
			if word == "all" {
				show = opened().ShowAll
			}
			err := show(t.Context())
			fmt.Fprintln(&c.b, word, err)
		default:
			require.Fail(t, "unknown line", line)
		}
	}
	return c.b.String()
}
