// SPDX-License-Identifier: Apache-2.0

package failing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/failing"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var errTest = errors.New("of the test")

// fails makes the operations 0, 1 and so on of a test fail, until none is left. It returns the names of those that failed.
func fails(t *testing.T, use func(p *failing.Plan) error) (names []string) {
	for n := range failing.Operations {
		p := failing.At(n, errTest)
		require.False(t, p.Failed())
		require.Empty(t, p.Operation())
		err := use(p)
		if !p.Failed() {
			require.NoError(t, err)
			return names
		}
		require.ErrorIs(t, err, errTest, "the error is the one of the plan")
		names = append(names, p.Operation())
	}
	require.Fail(t, "it has no end")
	return nil
}

// Each operation of a workspace fails in its turn, once, and all others work.
func TestEachOperationOfAWorkspaceFails(t *testing.T) {
	names := fails(t, func(p *failing.Plan) (err error) {
		w, e := workspace.NewMemory(workspace.MemoryConfig{})
		require.NoError(t, e)
		require.NoError(t, w.Disk().WriteFile("/project/b", []byte("b"), 0o644))
		f := failing.Workspace{Workspace: w, Plan: p}
		ctx := t.Context()
		if v, err := f.Write(ctx, "a", []byte("1"), workspace.AnyVersion); err != nil {
			require.Empty(t, v)
			require.Equal(t, "write a", p.Operation())
			_, missing := w.Stat(ctx, "a")
			require.Error(t, missing, "nothing is written")
			return err
		} else {
			require.NotEmpty(t, v)
		}
		if file, err := f.Read(ctx, "a", workspace.Range{}); err != nil {
			require.Zero(t, file)
			return err
		} else {
			require.Equal(t, "1", string(file.Data))
		}
		if info, err := f.Stat(ctx, "a"); err != nil {
			require.Zero(t, info)
			return err
		} else {
			require.NotZero(t, info)
		}
		var walked []string
		for info, err := range f.Walk(ctx, ".", workspace.WalkOptions{}) {
			if err != nil {
				require.Zero(t, info)
				return err
			}
			walked = append(walked, info.Path)
		}
		require.Len(t, walked, 2)
		for _, err := range f.Walk(ctx, ".", workspace.WalkOptions{}) {
			if err != nil {
				return err
			}
			break // which is no error
		}
		if err := f.Remove(ctx, "a", workspace.AnyVersion); err != nil {
			_, there := w.Stat(ctx, "a")
			require.NoError(t, there)
			return err
		}
		_, missing := w.Stat(ctx, "a")
		require.Error(t, missing)
		return nil
	})
	require.Equal(t, []string{"write a", "read a", "stat a", "walk .", "walk .", "walk .", "remove a"}, append(names[:5:5], names[len(names)-2:]...))
	require.Len(t, names, 7)
}

// Each operation of a store fails in its turn.
func TestEachOperationOfAStoreFails(t *testing.T) {
	names := fails(t, func(p *failing.Plan) error {
		memory := new(session.Memory)
		s := failing.Store{Store: memory, Plan: p}
		ctx := context.Background()
		info, err := s.Create(ctx, session.New{ID: "x"})
		if err != nil {
			require.Zero(t, info)
			_, missing := memory.Get(ctx, "x")
			require.Error(t, missing)
			return err
		}
		require.Equal(t, "x", info.ID)
		if info, err = s.Get(ctx, "x"); err != nil {
			require.Zero(t, info)
			return err
		}
		require.Equal(t, "x", info.ID)
		page, err := s.List(ctx, session.Query{})
		if err != nil {
			require.Zero(t, page)
			return err
		}
		require.Len(t, page.Sessions, 1)
		title := "new"
		if info, err = s.Update(ctx, "x", session.Change{Title: &title}); err != nil {
			require.Zero(t, info)
			return err
		}
		require.Equal(t, "new", info.Title)
		l, err := s.Acquire(ctx, "x", session.Claim{Holder: "me"})
		if err != nil {
			require.Zero(t, l)
			return err
		}
		require.Equal(t, "x", l.Session)
		head, err := s.Append(ctx, l, 0, session.Batch{Entries: []session.Entry{{Kind: "k", Data: []byte(`1`)}, {Kind: "k", Data: []byte(`2`)}}})
		if err != nil {
			require.Zero(t, head)
			return err
		}
		require.EqualValues(t, 2, head)
		item, err := s.Put(ctx, "x", session.Item{ID: "i", Kind: session.ItemPrompt, Data: []byte(`1`)})
		if err != nil {
			require.Zero(t, item)
			return err
		}
		require.Equal(t, "i", item.ID)
		if item, err = s.Change(ctx, "x", "i", item.Version, []byte(`2`)); err != nil {
			require.Zero(t, item)
			return err
		}
		require.JSONEq(t, "2", string(item.Data))
		n := 0
		for e, err := range s.Load(ctx, "x", 0) {
			if err != nil {
				require.Zero(t, e)
				require.Equal(t, "load x", p.Operation())
				return err
			}
			n++
		}
		require.Equal(t, 2, n)
		return nil
	})
	require.Equal(t, []string{"create x", "get x", "list", "update x", "acquire x", "append x", "put x", "change x", "load x", "load x"}, names)
}

// A plan fails once, and what comes after it works.
func TestAPlanFailsOnce(t *testing.T) {
	p := failing.At(1, errTest)
	s := failing.Store{Store: new(session.Memory), Plan: p}
	var all []string
	for i := range 4 {
		_, err := s.Create(t.Context(), session.New{ID: fmt.Sprint(i)})
		all = append(all, fmt.Sprint(err, " ", p.Failed()))
	}
	require.Equal(t, []string{"<nil> false", "of the test true", "<nil> true", "<nil> true"}, all)
	require.Equal(t, "create 1", p.Operation())
	require.Equal(t, 1000, failing.Operations)
}
