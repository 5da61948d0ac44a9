// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// room is a workspace whose commands end as it says. It counts what is closed.
type room struct {
	workspace.Workspace
	exit                          workspace.Exit
	start, wait, output, readFile error
	out                           string
	closed, processes             int
}

func (r *room) Close() error { r.closed++; return errors.New("it does not close") }

func (r *room) Start(context.Context, workspace.Command) (workspace.Process, error) {
	return &process{room: r}, r.start
}

func (r *room) Read(ctx context.Context, path string, rg workspace.Range) (workspace.File, error) {
	f, err := r.Workspace.Read(ctx, path, rg)
	if r.readFile != nil {
		err = r.readFile
	}
	return f, err
}

type process struct {
	workspace.Process
	room *room
}

func (p *process) Wait(context.Context) (workspace.Exit, error) { return p.room.exit, p.room.wait }

func (p *process) Output(_ context.Context, from int64, limit int) (workspace.Chunk, error) {
	if from != -2000 || limit != 2000 {
		return workspace.Chunk{}, errors.New("another part of the output")
	}
	return workspace.Chunk{Data: []byte(p.room.out)}, p.room.output
}

func (p *process) Close(ctx context.Context) error {
	p.room.processes++
	return ctx.Err()
}

// TestCommandsAndFilesAreJudged has workspaces that end commands in every way.
func TestCommandsAndFilesAreJudged(t *testing.T) {
	broken := errors.New("no disk")
	command, file := evals.Command("go", "test"), evals.File("a", "x")
	long := strings.Repeat("y", 201)
	for name, c := range map[string]struct {
		room  room
		e     evals.Evaluator
		files map[string]string
		want  evals.Score
	}{
		"good":           {room{out: "fine"}, command, nil, evals.Score{Kind: "pass", Value: 1}},
		"bad":            {room{exit: workspace.Exit{Code: 3}, out: " \xff lost\n"}, command, nil, evals.Score{Kind: "pass", Reason: "exit code 3: \ufffd lost"}},
		"killed":         {room{exit: workspace.Exit{Code: -1, Signal: "killed"}, out: "x"}, command, nil, evals.Score{Kind: "pass", Reason: "ended by killed: x"}},
		"does not start": {room{start: broken}, command, nil, evals.Score{Kind: "error", Reason: "no disk"}},
		"does not end":   {room{wait: broken}, command, nil, evals.Score{Kind: "error", Reason: "no disk"}},
		"without output": {room{exit: workspace.Exit{Code: 1}, output: broken}, command, nil, evals.Score{Kind: "error", Reason: "no disk"}},
		"a file":         {room{}, file, map[string]string{"a": "x"}, evals.Score{Kind: "pass", Value: 1}},
		"another file":   {room{}, file, map[string]string{"a": long}, evals.Score{Kind: "pass", Reason: `a has "` + long[1:] + `…", want "x"`}},
		"no file":        {room{}, file, map[string]string{"b": "x"}, evals.Score{Kind: "pass", Reason: "there is no file a"}},
		"gone":           {room{readFile: fs.ErrNotExist}, file, nil, evals.Score{Kind: "pass", Reason: "there is no file a"}},
		"cannot be read": {room{readFile: broken}, file, nil, evals.Score{Kind: "error", Reason: "no disk"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.room
			var err error
			r.Workspace, err = workspace.NewMemory(workspace.MemoryConfig{})
			require.NoError(t, err)
			d := evals.Dataset[string, string]{Name: "d", Evaluators: []evals.Evaluator{c.e}, Cases: []evals.Case[string, string]{{Name: "one", Files: c.files}}}
			report, err := evals.Run(t.Context(), d, echo, evals.Options{Workspace: func(_ context.Context, name string) (workspace.Workspace, error) {
				require.Equal(t, "one", name)
				return &r, nil
			}})
			require.NoError(t, err)
			c.want.Name = c.e.Name()
			require.Equal(t, []evals.Score{c.want}, report.Cases[0].Trials[0].Scores)
			require.Equal(t, 1, r.closed, "the workspace is closed once")
			started := 0
			if c.e.Name() == command.Name() && c.room.start == nil {
				started = 1
			}
			require.Equal(t, started, r.processes, "each command that has begun is closed")
		})
	}
	require.Equal(t, "go test", command.Name())
	require.Equal(t, "file a", file.Name())
}

// TestAWorkspaceThatTakesNoFilesIsClosed has files that cannot be written.
func TestAWorkspaceThatTakesNoFilesIsClosed(t *testing.T) {
	disk, err := workspace.NewMemory(workspace.MemoryConfig{})
	require.NoError(t, err)
	r := &room{Workspace: disk}
	d := evals.Dataset[string, string]{Cases: []evals.Case[string, string]{{Name: "one", Files: map[string]string{"a": "1", "../b": "2"}}}}
	for _, open := range []func(context.Context, string) (workspace.Workspace, error){
		nil, func(context.Context, string) (workspace.Workspace, error) { return r, nil },
	} {
		report, err := evals.Run(t.Context(), d, echo, evals.Options{Workspace: open})
		require.NoError(t, err)
		require.Equal(t, evals.StatusUnavailable, report.Cases[0].Trials[0].Status)
		require.Contains(t, report.Cases[0].Trials[0].Error, `evals: the workspace of case "one": `)
		require.Equal(t, 1, report.Cases[0].Trials[0].Attempts)
	}
	require.Equal(t, 1, r.closed)
	report, err := evals.Run(t.Context(), d, echo, evals.Options{
		Workspace: func(context.Context, string) (workspace.Workspace, error) { return nil, errors.New("full") },
	})
	require.NoError(t, err)
	require.Equal(t, `evals: the workspace of case "one": full`, report.Cases[0].Trials[0].Error)
	require.Nil(t, evals.WorkspaceOf(t.Context()))
}
