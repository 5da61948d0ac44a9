// SPDX-License-Identifier: Apache-2.0

package together

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// runs is an editor's turn that the browser ends.
func runs(t *testing.T, s *shared, in <-chan struct{}, end func(id string)) acp.StopReason {
	e := s.edit(acptest.New(acptest.Options{}))
	id, err := e.Start(t.Context(), s.dir)
	require.NoError(t, err)
	answer := make(chan acp.StopReason)
	go func() {
		defer close(answer)
		if stop, err := e.Say(t.Context(), id, "hello"); err == nil {
			answer <- stop
		} else {
			t.Error(err)
		}
	}()
	<-in
	end(string(id))
	return <-answer
}

func TestBrowserEndsTheTurnOfAnEditor(t *testing.T) {
	for method, path := range map[string]string{"POST": "/cancel", "DELETE": ""} {
		in := make(chan struct{}, 1)
		s := share(t, modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
			in <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		stop := runs(t, s, in, func(id string) { s.browse(method, "sessions/"+id+path, strings.Repeat("{}", len(path)/7)) })
		require.Equal(t, acp.StopReasonCancelled, stop, method)
	}
}

func TestPromptThatABrowserHasCancelledIsAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, free := make(chan struct{}, 1), make(chan struct{})
		s := share(t, modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			in <- struct{}{}
			<-free // it ignores its context
			return model.Response(model.Text("late")), nil
		}))
		stop := runs(t, s, in, func(id string) { s.browse("POST", "sessions/"+id+"/cancel", "{}") })
		close(free)
		require.Equal(t, acp.StopReasonCancelled, stop)
	})
}

func TestEditorIsToldThatABrowserHasDeletedItsSession(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	e := s.edit(acptest.New(acptest.Options{}))
	id, err := e.Start(t.Context(), s.dir)
	require.NoError(t, err)
	_, err = e.Say(t.Context(), id, "hello")
	require.NoError(t, err)
	s.browse("DELETE", "sessions/"+string(id), "")
	var wrong *acp.Error
	_, err = e.Say(t.Context(), id, "hello")
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, acp.CodeResourceNotFound, wrong.Code)
	_, err = e.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: id, Cwd: s.dir})
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, acp.CodeResourceNotFound, wrong.Code)
}

func TestEditorLoadsASessionThatTheProgramHasClosed(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	e := s.edit(acptest.New(acptest.Options{}))
	id, err := e.Start(t.Context(), s.dir)
	require.NoError(t, err)
	_, err = e.Say(t.Context(), id, "hello")
	require.NoError(t, err)
	require.NoError(t, s.host.Session(string(id)).Close(t.Context()))
	_, err = e.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: id, Cwd: s.dir})
	require.NoError(t, err)
	_, err = e.Say(t.Context(), id, "hello again")
	require.NoError(t, err)
}

func TestEditorKeepsASharedSessionThatItCannotLoadElsewhere(t *testing.T) {
	s := share(t, modeltest.Func(reads))
	e := s.edit(acptest.New(acptest.Options{}))
	id, err := e.Start(t.Context(), s.dir)
	require.NoError(t, err)
	s.ask(string(id), "from the browser")
	other := filepath.Join(s.dir, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	place := s.host.Session(string(id)).Place()
	_, err = e.LoadSession(t.Context(), &acp.LoadSessionRequest{SessionID: id, Cwd: other})
	require.ErrorContains(t, err, "open elsewhere")
	_, err = e.Say(t.Context(), id, "hello")
	require.NoError(t, err)
	require.Equal(t, place, s.host.Session(string(id)).Place())
}
