// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// endWatcher notes when a stream ends or fails, which the connection does not tell.
type endWatcher struct {
	once  sync.Once
	ended chan struct{}
	lost  atomic.Pointer[error] // what could not be written to a file, such as on a full disk
}

func (w *endWatcher) note(err error) {
	if err != nil {
		w.once.Do(func() { close(w.ended) })
	}
}

type watchedReader struct {
	io.Reader
	*endWatcher
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.note(err)
	return n, err
}

func (r watchedReader) Close() error { return closeStream(r.Reader) }

type watchedWriter struct {
	io.Writer
	*endWatcher
}

func (w watchedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if _, isFile := errors.AsType[*fs.PathError](err); isFile && !errors.Is(err, fs.ErrClosed) {
		w.lost.CompareAndSwap(nil, &err)
	}
	w.note(err)
	return n, err
}

func (w watchedWriter) Close() error { return closeStream(w.Writer) }

func closeStream(s any) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
