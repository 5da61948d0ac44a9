// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/markdown"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// maxShell bounds the output of a command of the person that is shown, in bytes.
const maxShell = 32 << 10

// shell runs a command for the person, where the agent's commands run, and shows its output.
func (c *console) shell(ctx context.Context, line string) {
	output, err := c.output(ctx, line)
	c.call(func() {
		if output = strings.TrimRight(output, "\n"); output != "" {
			c.model.Note(output, text.Style{})
		}
		if err != nil {
			c.model.Note("! "+explain(err), text.Style{Color: text.Yellow})
		}
	})
}

func (c *console) output(ctx context.Context, line string) (string, error) {
	p, err := c.files.Start(ctx, workspace.Command{Line: line, Dir: c.config.Dir})
	if err != nil {
		return "", err
	}
	defer p.Close(context.WithoutCancel(ctx))
	exit, err := p.Wait(ctx)
	if err != nil {
		return "", err
	}
	chunk, err := p.Output(ctx, -maxShell, 0)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	return string(chunk.Data), err
}

// copy copies the last answer, or its last block of code, to the clipboard of the person's
// terminal, by OSC 52.
func (c *console) copy(code bool) {
	answer, what := "", "The last answer"
	for e := range c.session.Snapshot().All() {
		if e.Kind == view.Message && e.Role == view.Assistant {
			answer = e.Text()
		}
	}
	if answer == "" {
		c.model.Note("There is no answer yet.", render.Dim)
		return
	}
	if code {
		blocks := markdown.Code(answer)
		if len(blocks) == 0 {
			c.model.Note("The last answer has no block of code.", render.Dim)
			return
		}
		answer, what = blocks[len(blocks)-1], "The last block of code"
	}
	if _, err := fmt.Fprintf(c.tty, "\x1b]52;c;%s\a", base64.StdEncoding.EncodeToString([]byte(answer))); err == nil {
		c.model.Note(what+" is copied, if the terminal allows it.", render.Dim)
	}
}
