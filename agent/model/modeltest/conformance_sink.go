// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

var errSink = errors.New("the sink has had enough")

// testSinkError makes the sink fail at each delta of a stream in turn.
func testSinkError(s *subject) {
	req := question("How is the weather?")
	j := s.joined()
	s.answer(req, j.sink)
	if j.deltas < 2 {
		s.t.Fatalf("stream has %d deltas; the harness must send the response in several pieces", j.deltas)
	}
	for at := range j.deltas {
		s.failAt(req, at)
	}
}

// failAt makes a request whose sink fails at a delta, counted from 0.
func (s *subject) failAt(req *model.Request, at int) {
	s.t.Helper()
	calls := 0
	_, err := s.generate(s.t.Context(), req, func(model.Delta) error {
		if calls++; calls == at+1 {
			return errSink
		}
		return nil
	})
	if err != errSink {
		s.t.Errorf("the sink failed at delta %d, but Generate returned %v (%T)", at, err, err)
	}
	if calls != at+1 {
		s.t.Errorf("the sink failed at delta %d, but was called %d times", at, calls)
	}
}

func testSinkErrorAtOnce(s *subject) {
	s.soon("Generate with a sink that failed", func() {
		ctx, cancel := s.patient()
		defer cancel()
		if _, err := s.generate(ctx, question("How is the weather?"), func(model.Delta) error { return errSink }); err != errSink {
			s.t.Errorf("Generate returned %v (%T)", err, err)
		}
	})
}

func testSinkGoroutine(s *subject) {
	caller := goroutine()
	var returned atomic.Bool
	ctx, cancel := s.patient()
	defer cancel()
	sink := func(model.Delta) error {
		if g := goroutine(); g != caller {
			s.t.Errorf("the sink was called by %s, Generate by %s", g, caller)
		}
		if returned.Load() {
			s.t.Error("the sink was called after Generate returned")
		}
		if s.scenario.Silent {
			cancel()
		}
		return nil
	}
	_, err := s.generate(ctx, question("How is the weather?"), sink)
	returned.Store(true)
	if err != nil && !s.scenario.Silent {
		s.t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond) // wait for calls that must not come
}

// goroutine returns the name of the calling goroutine, as in a stack trace.
func goroutine() string {
	buf := make([]byte, 64)
	line, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte(" ["))
	return strings.TrimSpace(string(line))
}
