// SPDX-License-Identifier: Apache-2.0

// Package replaytest plays recordings of sessions as Go tests. Package replay makes recordings.
//
// Programs do not import this package, so they do not link package testing.
package replaytest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/replay"
)

// Setup returns the agent that is tested, and its dependencies. It is called for each turn. The
// stage has what the session knows: a model for agents that summarise, files, tools of servers.
// The agent's model is never asked.
type Setup[D, O any] func(t testing.TB, s *replay.Stage) (*agent.Agent[D, O], D)

// updateVariable is the environment variable that makes [Test] fill recordings.
const updateVariable = "PONTE_UPDATE"

// Test plays each turn of a recording as a subtest. It fails with the first thing that the agent
// does otherwise than in the session: see [replay.Play].
//
// If the environment variable PONTE_UPDATE is 1, or the test binary has a boolean flag named
// "update" that is set, Test fills the recording instead ([replay.Fill]): it adds what the session
// does not keep, and takes the present agent's for right where that is all that differs. Secrets
// are replaced again. Calls, results and texts that differ from the session still fail. Turns that
// -run leaves out stay as they are.
func Test[D, O any](t *testing.T, file string, setup Setup[D, O], o replay.PlayOptions) {
	t.Helper()
	r, err := replay.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	fill, filled := updating(), true
	for i := range r.Turns {
		filled = filled && r.Turns[i].Checked != nil
		t.Run(fmt.Sprintf("turn %d", i+1), func(t *testing.T) {
			a, deps := setup(t, r.Stage(i))
			run := replay.Play[D, O]
			if fill {
				run = replay.Fill[D, O]
			}
			if err := run(t.Context(), r, i, a, deps, o); err != nil {
				t.Error(err)
				if errors.As(err, new(*replay.Difference)) && !fill {
					t.Logf("if that is right, run the test with %s=1 and look at what changes "+
						"in %s, or record the session again", updateVariable, file)
				}
			}
		})
	}
	switch {
	case fill && !t.Failed():
		dropFrames(r)
		if err = r.Clean(); err == nil {
			err = r.Save(file)
		}
		if err != nil {
			t.Error(err)
		}
	case !filled:
		t.Logf("%s does not know what the model is told of tools: run the test once with %s=1",
			file, updateVariable)
	}
}

// dropFrames drops the frames that no turn has any more. Until then stages know their tools.
func dropFrames(r *replay.Recording) {
	var used []replay.Frame
	moved := map[int]int{}
	for i := range r.Turns {
		if c := r.Turns[i].Checked; c != nil {
			for j, at := range c.Steps {
				if _, ok := moved[at]; !ok {
					moved[at], used = len(used), append(used, r.Frames[at])
				}
				c.Steps[j] = moved[at]
			}
		}
	}
	r.Frames = used
}

// updating reports whether recordings are to be filled.
func updating() bool {
	if f := flag.Lookup("update"); f != nil {
		if getter, ok := f.Value.(flag.Getter); ok && getter.Get() == true {
			return true
		}
	}
	on, _ := strconv.ParseBool(os.Getenv(updateVariable))
	return on
}
