// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset"
)

// plan is a change of a file, made from one version of it.
type plan struct {
	path    string // absolute
	file    string // what the path leads to, as [Follow] names it
	name    string // as it is shown
	version Version
	exists  bool
	old     []byte
	new     []byte
	digest  string // of old
	// blind is set if the workspace cannot read: the present content is unknown.
	blind bool
}

// basis identifies what the plan was made from, for [toolset.Approval]. It is never empty, which
// makes sure that the file is checked again.
func (p *plan) basis() string {
	switch {
	case p.blind:
		return ""
	case !p.exists:
		return "new" + p.linked()
	}
	// The version would not do: a workspace may give the same content another one, such as when time has passed since its last change.
	return "content " + p.digest + p.linked()
}

// linked is the file that the path leads to, if that is another one.
func (p *plan) linked() string {
	if p.file == p.path {
		return ""
	}
	return " of " + p.file
}

// ifVersion is the version for writing the plan.
func (p *plan) ifVersion() Version {
	switch {
	case p.blind:
		return AnyVersion
	case !p.exists:
		return ""
	}
	return p.version
}

// planApproval returns the question about the plan.
func (c *call) planApproval(ctx context.Context, p *plan) *toolset.Approval {
	after := string(p.new)
	diff := &toolset.Diff{Path: p.path, New: &after}
	title := "Write "
	switch {
	case p.exists:
		before := string(p.old)
		diff.Old, title = &before, "Edit "
	case !p.blind:
		title = "Create "
	}
	title += p.name
	if p.file != p.path {
		title += " (a link to " + printable(shortPath(c.ws, p.file)) + ")"
	}
	a := &toolset.Approval{Title: title, Preview: []toolset.Preview{{Diff: diff}}, Basis: p.basis()}
	c.options.scope(ctx, c.ws, c.tool, a)
	return a
}

// carryOut writes a plan, if it is the one that was approved.
func (c *call) carryOut(ctx context.Context, p *plan) error {
	if !c.approved || c.approval != nil && c.approval.Basis != p.basis() {
		return toolset.ApprovalRequired(*c.planApproval(ctx, p))
	}
	c.plans.clear()
	if _, err := c.ws.Write(ctx, p.path, p.new, p.ifVersion()); err != nil {
		return c.failed(ctx, "write "+p.name, err)
	}
	return nil
}

// current reads what a plan is to change. The error is for the model.
func (c *call) current(ctx context.Context, path string) (*plan, error) {
	name := c.name(path)
	at, err := LocateIn(c.ws, path)
	if err != nil {
		return nil, c.failed(ctx, "write "+name, err)
	}
	p := &plan{path: at.Path, file: Follow(ctx, c.ws, at.Path), name: name}
	if !c.ws.Features().Read {
		p.blind = true
		return p, nil
	}
	f, err := c.ws.Read(ctx, path, Range{})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return nil, c.failed(ctx, "write "+name+", because its present content cannot be read", err)
	}
	sum := sha256.Sum256(f.Data)
	p.exists, p.version, p.old, p.digest = true, f.Version, f.Data, hex.EncodeToString(sum[:])
	return p, nil
}

// planned returns the plan for a call. One that was made for the preview is used again if the file still has its version: then the file is
// not read a second time. make fills in what is new.
func (c *call) planned(ctx context.Context, path string, args any, make func(*plan) error) (*plan, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(append([]byte(c.tool+"\x00"), raw...))
	if p := c.plans.get(key); p != nil && p.file == Follow(ctx, c.ws, p.path) {
		if c.approved && c.approval != nil && c.approval.Basis == p.basis() {
			return p, nil // it has just been looked at, and Write looks again
		}
		info, err := c.ws.Stat(ctx, path)
		if err == nil && p.exists && info.Version == p.version || errors.Is(err, fs.ErrNotExist) && !p.exists {
			return p, nil
		}
	}
	p, err := c.current(ctx, path)
	if err == nil {
		err = make(p)
	}
	if err != nil {
		return nil, err
	}
	if !p.blind {
		c.plans.put(key, p)
	}
	return p, nil
}

// planCache keeps the last plans, because a file is looked at for the preview, before the call, and in it. It is safe for concurrent use.
type planCache struct {
	mu      sync.Mutex
	entries []planEntry // the oldest first
}

type planEntry struct {
	key  [sha256.Size]byte
	plan *plan
}

// maxPlans is how many plans are kept; calls that change files run one after the other.
const maxPlans = 4

func (p *planCache) get(key [sha256.Size]byte) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.key == key {
			return e.plan
		}
	}
	return nil
}

// clear forgets all plans.
func (p *planCache) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = nil
}

func (p *planCache) put(key [sha256.Size]byte, made *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = slices.DeleteFunc(p.entries, func(e planEntry) bool { return e.key == key })
	if len(p.entries) >= maxPlans {
		p.entries = slices.Delete(p.entries, 0, 1)
	}
	p.entries = append(p.entries, planEntry{key, made})
}

// textProblem says why data cannot be edited as text, or returns an empty string.
func textProblem(data []byte) string {
	if utf8.Valid(data) && binaryKind(data) == "" {
		return ""
	}
	return fmt.Sprintf("it is %s, and only text can be edited.", binaryKind(data))
}
