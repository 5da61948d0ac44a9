// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// touched is the state of a run about instructions of subdirectories.
type touched struct {
	mu   sync.Mutex
	dirs map[string]*directory
	// standing are the directories whose instructions the run began with.
	standing []string
	known    bool
}

// directory is a subdirectory that has been looked at in this run.
type directory struct {
	text string // empty if it has no instructions
	key  string // identifies directory and text
	file string
	// added is set if the text was added in this run, the last time in step. at is its position in
	// the history.
	added    bool
	step, at int
}

// others hold the code of others, or none.
var others = []string{"node_modules", "vendor", ".git", ".hg", ".svn"}

// addTo adds to the result of a call the instructions of the directories that its file lies in,
// unless the conversation has them.
func (p *project) addTo(ctx context.Context, w workspace.Workspace, run *toolset.RunInfo, path string, res toolset.Result) (toolset.Result, error) {
	if !readable(w) {
		return res, nil
	}
	t, _ := ctx.Value(p).(*touched)
	if t == nil { // the call is executed without the hook around its run
		t = new(touched)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	dirs, err := t.below(ctx, p, w, path)
	for i := 0; err == nil && i < len(dirs); i++ {
		var d *directory
		if d, err = t.look(ctx, p, w, dirs[i]); err != nil || d.text == "" || d.file == path {
			continue
		}
		if d.added && d.step == run.Step || d.inHistory(run.Messages) {
			continue
		}
		d.added, d.step = true, run.Step
		part := model.User(d.text)
		part.Meta = mark(d.key)
		res.Content = append(slices.Clip(res.Content), part)
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, workspace.ErrLost)) {
		return res, fmt.Errorf("instructions: %w", err)
	}
	return res, nil // the call has done what it should
}

// below returns the directories of a file that the run did not begin with, the outermost first.
func (t *touched) below(ctx context.Context, p *project, w workspace.Workspace, path string) ([]string, error) {
	if !t.known {
		standing, err := p.standingDirs(ctx, w)
		if err != nil {
			return nil, err
		}
		t.standing, t.known = standing, true
	}
	roots := w.Roots()
	at, err := workspace.LocateIn(w, path)
	if err != nil {
		return nil, nil
	}
	style := workspace.StyleOf(roots[0])
	for name := range strings.SplitSeq(at.Name, "/") {
		if slices.Contains(others, style.Fold(name)) {
			return nil, nil
		}
	}
	var dirs []string
	for dir := style.Parent(at.Path); len(dirs) < maxDirs; dir = style.Parent(dir) {
		if !slices.Contains(t.standing, dir) {
			dirs = append(dirs, dir)
		}
		if dir == roots[at.Root] || dir == style.Parent(dir) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs, nil
}

// look reads the instructions of a directory, once in a run.
func (t *touched) look(ctx context.Context, p *project, w workspace.Workspace, dir string) (*directory, error) {
	if d := t.dirs[dir]; d != nil {
		return d, nil
	}
	docs, err := p.loader(w).directory(ctx, dir)
	if err != nil {
		return nil, err
	}
	d := &directory{text: p.render(w, touchedHeader, docs)}
	if len(docs) > 0 {
		sum := sha256.Sum256([]byte(d.text))
		d.file, d.key = docs[0].path, dir+"\x00"+hex.EncodeToString(sum[:12])
	}
	if t.dirs == nil {
		t.dirs = map[string]*directory{}
	}
	t.dirs[dir] = d
	return d, nil
}

// meta marks a part that has the instructions of a directory.
type meta struct {
	Key string `json:"ponte.instructions"`
}

func mark(key string) json.RawMessage {
	data, err := json.Marshal(meta{key})
	if err != nil {
		panic(err) // it is a string
	}
	return data
}

// inHistory reports whether the history has the text. It looks where the text was last, and only
// then everywhere.
func (d *directory) inHistory(messages []*model.Message) bool {
	if d.at < len(messages) && d.in(messages[d.at]) {
		return true
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if d.in(messages[i]) {
			d.at = i
			return true
		}
	}
	return false
}

func (d *directory) in(m *model.Message) bool {
	for i := range m.Parts {
		var have meta
		if p := &m.Parts[i]; p.Kind == model.PartUser && len(p.Meta) > 0 && json.Unmarshal(p.Meta, &have) == nil && have.Key == d.key {
			return true
		}
	}
	return false
}
