// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// readable returns what was decided about reading a file, by both its names: the denial of either,
// or else what is not empty.
func (c *call) readable(ctx context.Context, path string) (verdict toolset.Verdict, reason string) {
	if c.reads == nil {
		return "", ""
	}
	at, err := LocateIn(c.ws, path)
	if err != nil {
		return "", "" // which reading it reports
	}
	verdict, reason = c.reads(at.Path)
	if file := Follow(ctx, c.ws, at.Path); file != at.Path && verdict != toolset.VerdictDeny {
		if v, why := c.reads(file); v == toolset.VerdictDeny || verdict == "" {
			verdict, reason = v, why
		}
	}
	return verdict, reason
}

// CheckRead returns an error for the model if the session's tools must not read a file, or must ask
// before they do: see [Session.GuardReads]. It is for other toolsets that show files of the
// session.
func (s *Session) CheckRead(ctx context.Context, path string) error {
	c := &call{Session: s, ws: s.workspace}
	if err := c.unread(ctx, path); err != nil {
		return err
	}
	if verdict, _ := c.readable(ctx, path); verdict != "" {
		return toolset.Denied("Reading %s needs approval. Read it with %s.", c.name(path), ToolReadFile)
	}
	return nil
}

// withheld reports whether the content of a file must not be shown without a question.
func (c *call) withheld(ctx context.Context, path string) bool {
	verdict, _ := c.readable(ctx, path)
	return verdict != "" && verdict != toolset.VerdictAllow
}

// unread is the error for the model if a file must not be read.
func (c *call) unread(ctx context.Context, path string) error {
	verdict, reason := c.readable(ctx, path)
	if verdict != toolset.VerdictDeny {
		return nil
	}
	text := "Reading " + c.name(path) + " is not permitted"
	if reason != "" {
		text += ": " + strings.TrimSuffix(reason, ".")
	}
	return toolset.Denied("%s. Do not try to get its content in another way.", text)
}

// mayRead returns an error unless a call may read a file now. It asks during the call, which keeps
// reads parallel.
func (c *call) mayRead(ctx context.Context, path string) error {
	if err := c.unread(ctx, path); err != nil {
		return err
	}
	verdict, reason := c.readable(ctx, path)
	at, err := LocateIn(c.ws, path)
	if verdict == "" || err != nil { // which reading it reports
		return nil
	}
	file := Follow(ctx, c.ws, at.Path)
	a := toolset.Approval{
		Title: "Read " + c.name(path), Reason: reason,
		Scope: StyleOf(file).Fold(file), ScopeTitle: "reading " + printable(shortPath(c.ws, file)),
		Preview: []toolset.Preview{{Text: file}}, Basis: "reads " + file,
		Effects: []model.Effect{
			{Kind: model.EffectRead, Path: at.Path}, {Kind: model.EffectRead, Path: file},
		},
	}
	if c.approved && (c.approval == nil || c.approval.Basis == a.Basis) {
		return nil
	}
	return toolset.ApprovalRequired(a)
}
