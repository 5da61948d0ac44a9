// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// shownBytes is how much of a spilled result the model sees at first.
const shownBytes = 3 << 10

// call spills long results.
func (c *compactor[D]) call(ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc) (toolset.Result, error) {
	res, err := next(ctx, args)
	if err != nil || len(res.Text) < c.options.SpillBytes || run.Call.Tool == workspace.ToolReadFile {
		return res, err
	}
	w := c.options.Spill(run.Deps)
	if w == nil || !w.Features().Write || !w.Features().Read {
		return res, nil
	}
	name, err := c.spill(ctx, w, run.IdempotencyKey(), res.Text)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, workspace.ErrLost)):
		return res, fmt.Errorf("compaction: %w", err)
	case err != nil: // the result does as well
		return res, nil
	}
	res.Text = head(res.Text, shownBytes*2/3) +
		fmt.Sprintf("\n[The result has %d bytes; the middle is omitted here. The full result is in %s: read parts of it with %s.]\n", len(res.Text), name, workspace.ToolReadFile) +
		tail(res.Text, shownBytes/3)
	return res, nil
}

// spill writes a result to a file. A call that is made again writes the same file.
func (c *compactor[D]) spill(ctx context.Context, w workspace.Workspace, key, text string) (string, error) {
	sum := sha256.Sum256([]byte(key))
	name := path.Join(c.options.SpillDir, hex.EncodeToString(sum[:8])+".txt")
	// A .gitignore keeps the files out of repositories, unless there is one already.
	if _, err := w.Write(ctx, path.Join(c.options.SpillDir, ".gitignore"), []byte("*\n"), ""); err != nil && !errors.Is(err, workspace.ErrChanged) {
		return "", err
	}
	_, err := w.Write(ctx, name, []byte(text), workspace.AnyVersion)
	return name, err
}

func head(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func tail(text string, n int) string {
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
