// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// silentServer accepts connections and never answers. asked ends when there is one.
func silentServer(t *testing.T) (address string, asked <-chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	one := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for first := true; ; first = false {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			if first {
				close(one)
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return l.Addr().String(), one
}

// A search for a model ends with the program, which says nothing of it any more.
func TestSearchEndsWithTheProgram(t *testing.T) {
	address, asked := silentServer(t)
	told := 0
	var ends []func() error
	m, err := chooser{
		env: env("OLLAMA_HOST", address), program: "desk", patience: time.Hour, tell: func(choice) { told++ },
		atEnd: func(f func() error) { ends = append(ends, f) },
	}.choose(t.Context(), "")
	require.NoError(t, err)
	<-asked
	require.Len(t, ends, 1)
	require.NoError(t, ends[0]())
	requireEnded(t, m)
	require.Zero(t, told)
	_, err = m.Generate(t.Context(), &model.Request{}, nil)
	require.ErrorIs(t, err, model.ErrAuth)
}

// A program that ends waits for the end of its search.
func TestProgramWaitsForItsSearch(t *testing.T) {
	address, _ := silentServer(t)
	var said bytes.Buffer
	e := newEnv(Process{Getenv: env("OLLAMA_HOST", address), Err: &said}, "desk")
	require.NoError(t, e.command().ParseFlags(nil))
	e.choose(t.Context())
	require.NoError(t, e.close())
	requireEnded(t, e.model)
}

// requireEnded fails if a model is still looked for.
func requireEnded(t *testing.T, m model.Model) {
	t.Helper()
	select {
	case <-m.(*searched).found:
	default:
		require.Fail(t, "the search goes on")
	}
}
