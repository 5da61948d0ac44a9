// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/out"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// maxEdited bounds the file that an editor leaves, in bytes.
const maxEdited = 4 << 20

// edit has the person write the prompt in an editor of theirs.
func (c *console) edit(ctx context.Context, prompt string) {
	edited, err := c.edited(ctx, prompt)
	c.painter.Forget()
	for drained := false; !drained; { // Ctrl-C was for the editor
		select {
		case <-c.config.Interrupts:
		default:
			drained = true
		}
	}
	if err != nil {
		c.model.Note("! the editor: "+explain(err), text.Style{Color: text.Yellow})
		return
	}
	c.model.SetInput(edited)
}

func (c *console) edited(ctx context.Context, prompt string) (string, error) {
	command, err := ParseCommand(c.config.Editor)
	if err != nil {
		return "", fmt.Errorf("$VISUAL or $EDITOR is %q: %w", c.config.Editor, err)
	}
	dir, err := os.MkdirTemp("", "prompt-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(file, []byte(prompt), 0o600); err != nil {
		return "", err
	}
	editor := exec.CommandContext(ctx, command.Path, append(command.Args, file)...)
	editor.Env, editor.Dir = append(editor.Environ(), command.Env...), c.config.Dir
	editor.Stdout, editor.Stderr = out.File(c.config.Out), out.File(c.config.Out)
	if in, ok := c.config.In.(*os.File); ok {
		editor.Stdin = in
	}
	err = c.tty.Lend(editor.Run)
	if errors.Is(err, errors.ErrUnsupported) {
		return "", errors.New("programs cannot share the terminal on this system")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w; the input is as it was", command.Path, err)
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxEdited {
		err = fmt.Errorf("the text has %d bytes; give more than %d as a file", info.Size(), maxEdited)
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	return strings.ToValidUTF8(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFFFD"), err
}

// steer passes a message to the running turn. If that cannot be, it is sent when the turn has
// ended.
func (c *console) steer(ctx context.Context, message string) {
	session, named := c.session, c.named(message)
	c.work.Go(func() {
		passed, why := false, "The turn has ended: it is sent as a prompt"
		blocks, err := blocks(message, named, c.pictured())
		if err == nil {
			passed, err = session.Steer(ctx, blocks...)
		}
		if _, cannot := errors.AsType[*acpclient.UnsupportedError](err); cannot {
			why = "The agent takes nothing while it works: it is sent when the turn has ended"
		} else if err != nil {
			why = "It is sent when the turn has ended: " + explain(err)
		}
		c.call(func() {
			if passed {
				c.model.Passed(time.Now())
			} else {
				c.model.Later(time.Now(), message, why)
			}
		})
	})
}
