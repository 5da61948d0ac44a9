// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

// The corpus in testdata/corpus has scenes: what a model answers, what tools and people do, and, behind a line of dashes, all that is told
// of the runs. A scene begins with "=== " and its name. Its lines are
//
//	config …   options of the agent, see [scene.config]
//	asker …    the decisions of a person, see [setting.decide]
//	model …    an answer of the model, see [setting.step]
//	inner …    an answer of the model of the agent inside, that the tool "sub" and the output "over" run
//	# …        a remark
//	run …      a run, with its options, and its prompt behind a colon, see [scene.options]
type scene struct {
	name         string
	input        []string
	config       map[string]string
	asker        []string
	model, inner []string
	runs         []string
}

const dashes = "---"

func readScenes(t *testing.T, path string) []*scene {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var all []*scene
	told := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "=== "); ok {
			all = append(all, &scene{name: name, config: map[string]string{}})
			told = false
			continue
		}
		if line == dashes {
			told = true
		}
		if told || strings.TrimSpace(line) == "" {
			continue
		}
		s := all[len(all)-1]
		s.input = append(s.input, line)
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "config":
			for _, word := range strings.Fields(rest) {
				key, value, _ := strings.Cut(word, "=")
				s.config[key] = value
			}
		case "asker":
			s.asker = strings.Split(rest, "; ")
		case "model":
			s.model = append(s.model, rest)
		case "inner":
			s.inner = append(s.inner, rest)
		case "run":
			s.runs = append(s.runs, rest)
		case "#":
		default:
			t.Fatalf("%s: %s: what is %q?", path, s.name, line)
		}
	}
	return all
}

func TestRunsOfTheCorpusAreToldAsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var all strings.Builder
			for _, s := range readScenes(t, path) {
				fmt.Fprintf(&all, "=== %s\n%s\n%s\n", s.name, strings.Join(s.input, "\n"), dashes)
				all.WriteString(s.told(t) + "\n")
			}
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(all.String()), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			requireSameScenes(t, string(want), all.String())
		})
	}
}

// requireSameScenes compares scene by scene, because the whole files would be too long to read.
func requireSameScenes(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	wants, gots := strings.Split(want, "\n=== "), strings.Split(got, "\n=== ")
	for i := range wants {
		require.Equal(t, wants[i], gots[i])
	}
	require.Equal(t, want, got)
}

// told plays a scene with a stream and returns what is told. Then it plays it again in other ways and checks that the results are the same.
func (s *scene) told(t *testing.T) string {
	streamed, results, brief := s.play(t, inStream)
	if s.config["only"] == "stream" {
		return streamed.String()
	}
	w, again, _ := s.play(t, inOnePiece)
	require.Equal(t, results, again, "%s: Run and Stream give the same", s.name)
	require.Equal(t, w.doneWithout("event"), streamed.doneWithout("event"), "%s: and do the same", s.name)
	if s.config["only"] != "here" {
		_, _, remote := s.play(t, byWorkers)
		require.Equal(t, brief, remote, "%s: tasks that are done elsewhere give the same", s.name)
		_, _, fused := s.play(t, inFusedSteps)
		require.Equal(t, brief, fused, "%s: steps that are done in one task give the same", s.name)
		_, _, recorded := s.play(t, withJournal)
		require.Equal(t, brief, recorded, "%s: runs with a journal give the same, also when they are resumed", s.name)
	}
	return streamed.String()
}

// The ways to play a scene.
const (
	inStream = iota
	inOnePiece
	byWorkers
	inFusedSteps
	withJournal
)

// play plays the runs of a scene. It returns the setting, which has seen everything, and the results in full and in brief.
func (s *scene) play(t *testing.T, way int) (w *setting, results, brief string) {
	synctest.Test(t, func(t *testing.T) { w, results, brief = s.playNow(t, way) })
	return w, numbered(results), numbered(brief)
}

func (s *scene) playNow(t *testing.T, way int) (w *setting, results, brief string) {
	w = newSetting(t, s)
	a, err := s.agent(w)
	if err != nil {
		w.say("new: %v", err)
		return w, err.Error(), err.Error()
	}
	var full, short strings.Builder
	var history []*model.Message
	for i, line := range s.runs {
		ctx, cancel := context.WithCancelCause(t.Context())
		w.cancel = cancel
		ctx = agent.WithRefusals(ctx, func(_ context.Context, r agent.Refusal) { w.say("refusal %s", plainJSON(r)) })
		w.say("run %s", line)
		prompt, opts := s.options(t, w, i, line, history)
		var res *agent.Result[string]
		var err error
		switch way {
		case inStream:
			st := a.Stream(ctx, deps{}, prompt, opts...)
			for e := range st.Events() {
				if text := w.event(e); s.config["parts"] != "" || !strings.HasPrefix(string(e.Kind), "part_") {
					w.say("event %s", text)
				}
				if strings.Contains(line, "leave="+string(e.Kind)) {
					break
				}
			}
			res, err = st.Result()
		case inOnePiece:
			res, err = a.Run(ctx, deps{}, prompt, opts...)
		case byWorkers, inFusedSteps:
			res, err = a.Run(ctx, deps{}, prompt, append(opts, onEngine(nil, way == inFusedSteps))...)
		case withJournal:
			var log journal.Memory
			opts = append(opts, agent.WithJournal(&log))
			res, err = a.Run(ctx, deps{}, prompt, opts...)
			var pending *agent.PendingError
			if err == nil || errors.As(err, &pending) { // other errors are not recorded
				before := len(w.lines)
				again, errAgain := a.Run(ctx, deps{}, prompt, opts...)
				require.Equal(t, w.brief(res, err), w.brief(again, errAgain), "%s: a journal that has everything gives the same", s.name)
				require.True(t, err != nil || before == len(w.lines), "%s: and nothing is done again: %v", s.name, w.lines[before:])
			}
		}
		cancel(nil)
		full.WriteString(w.result(res, err, true))
		short.WriteString(w.brief(res, err))
		if history = nil; res != nil {
			history = res.Messages
		} else if e := (*agent.RunError)(nil); errors.As(err, &e) {
			history = e.Messages
		}
		if way == inStream {
			w.lines = append(w.lines, strings.TrimSpace(w.result(res, err, false)))
		}
	}
	return w, full.String(), short.String()
}
