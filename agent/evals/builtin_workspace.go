// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// errNoWorkspace is the error of evaluators that need a workspace.
var errNoWorkspace = errors.New("the case has no workspace: set Case.Files or Options.Workspace")

// File passes if the workspace has a file with this content after the task.
func File(path, content string) Evaluator {
	return untyped("file "+path, func(ctx context.Context, t *trial) (Score, error) {
		got, exists, err := t.trace.File(ctx, path)
		if err != nil {
			return Score{}, err
		}
		if !exists {
			return Pass(false).Because("there is no file %s", path), nil
		}
		if got == content {
			return Pass(true), nil
		}
		const reason = "%s has %q, want %q"
		return Pass(false).Because(reason, path, shownText(got), shownText(content)), nil
	})
}

// File returns a file of the workspace as the task left it, and whether it exists. The case's Files
// have it as it was before.
func (t *Trace) File(ctx context.Context, path string) (content string, exists bool, err error) {
	if t.Workspace == nil {
		return "", false, errNoWorkspace
	}
	f, err := t.Workspace.Read(ctx, path, workspace.Range{})
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(f.Data), err == nil, err
}

// shownOutput is how much of a command's output a reason shows, in bytes.
const shownOutput = 2000

// Command passes if a command ends with exit code 0 in the workspace, after the task: a coding task
// is judged by its tests. args are a program and its arguments. The reason has the end of the
// output. The command runs until it ends or the context does, and may change files.
func Command(args ...string) Evaluator {
	return untyped(strings.Join(args, " "), func(ctx context.Context, t *trial) (Score, error) {
		if t.trace.Workspace == nil {
			return Score{}, errNoWorkspace
		}
		p, err := t.trace.Workspace.Start(ctx, workspace.Command{Args: args})
		if err != nil {
			return Score{}, err
		}
		defer func() { _ = p.Close(context.WithoutCancel(ctx)) }()
		exit, err := p.Wait(ctx)
		if err != nil {
			return Score{}, err
		}
		if exit.Code == 0 {
			return Pass(true), nil
		}
		ended := fmt.Sprintf("exit code %d", exit.Code)
		if exit.Signal != "" {
			ended = "ended by " + exit.Signal
		}
		out, err := p.Output(ctx, -shownOutput, shownOutput)
		if err != nil {
			return Score{}, err
		}
		text := strings.ToValidUTF8(string(out.Data), "\ufffd")
		return Pass(false).Because("%s: %s", ended, strings.TrimSpace(text)), nil
	})
}
