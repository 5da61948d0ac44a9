// SPDX-License-Identifier: Apache-2.0

package acphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// stream makes lines of a WebSocket's messages, and messages of lines.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	conn   *websocket.Conn
	once   sync.Once
	work   sync.WaitGroup

	moved   atomic.Int64 // counts what the other side has sent
	reading atomic.Bool  // pongs are seen
	writing atomic.Bool  // see send
	pinged  atomic.Bool  // and not answered: what fails now fails because the other side is gone

	read []byte // a line that has not been read to its end
	rest []byte // a line that has not been written to its end
}

func newStream(ctx context.Context, conn *websocket.Conn, maxMessage int, heartbeat time.Duration) *stream {
	conn.SetReadLimit(int64(maxMessage))
	s := &stream{conn: conn}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.work.Go(func() { s.watch(heartbeat) })
	return s
}

// watch ends the connection if the other side is gone, which TCP alone may notice late or never.
func (s *stream) watch(heartbeat time.Duration) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
		case <-s.ctx.Done():
			return
		}
		if s.writing.Load() {
			continue // which finds out, too, and a ping would have to wait
		}
		before, reading := s.moved.Load(), s.reading.Load()
		ctx, cancel := context.WithTimeout(s.ctx, heartbeat)
		s.pinged.Store(true)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil && s.ctx.Err() == nil && reading && s.reading.Load() && s.moved.Load() == before {
			_ = s.conn.CloseNow()
			return
		}
		s.pinged.Store(false)
	}
}

// Read implements [io.Reader]. The other side's end is the end of the stream.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.read) == 0 {
		s.reading.Store(true)
		kind, data, err := s.conn.Read(s.ctx)
		gone := err != nil && s.pinged.Load() // before watch sees that nobody reads
		s.moved.Add(1)
		s.reading.Store(false)
		switch status := websocket.CloseStatus(err); {
		case status == websocket.StatusNormalClosure, status == websocket.StatusGoingAway, errors.Is(err, context.Canceled):
			return 0, io.EOF
		case gone, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET): // it was killed
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("acphttp: %w", err)
		case kind != websocket.MessageText:
			continue // the protocol has none of these
		}
		s.read = lineOf(data)
	}
	n := copy(p, s.read)
	s.read = s.read[n:]
	return n, nil
}

// lineOf returns a message as one line. The connection answers messages that are not JSON.
func lineOf(data []byte) []byte {
	if bytes.IndexByte(data, '\n') >= 0 {
		var line bytes.Buffer
		if json.Compact(&line, data) == nil {
			data = line.Bytes()
		} else {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte(" "))
		}
	}
	return append(data, '\n')
}

// Write implements [io.Writer].
func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if err := s.send(s.rest[:i]); err != nil {
			if s.ctx.Err() != nil || s.pinged.Load() {
				return 0, io.ErrClosedPipe
			}
			return 0, fmt.Errorf("acphttp: %w", err)
		}
		s.rest = s.rest[i+1:]
	}
}

// send sends a message in chunks. It waits for a slow reader, and not for one that reads nothing.
func (s *stream) send(line []byte) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stalled := time.AfterFunc(frameTimeout, cancel)
	defer stalled.Stop()
	s.writing.Store(true)
	defer s.writing.Store(false)
	if len(line) <= frameChunk {
		return s.conn.Write(ctx, websocket.MessageText, line)
	}
	w, err := s.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for len(line) > 0 {
		n := min(len(line), frameChunk)
		if _, err := w.Write(line[:n]); err != nil {
			return err
		}
		line = line[n:]
		stalled.Reset(frameTimeout)
	}
	return w.Close()
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.once.Do(func() {
		_ = s.conn.Close(websocket.StatusNormalClosure, "") // a client that is gone needs no farewell
		s.cancel()
		s.work.Wait()
	})
	return nil
}
