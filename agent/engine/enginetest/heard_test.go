// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// heard is a test that notes what is wrong and does not fail.
type heard struct {
	testing.TB

	mu   sync.Mutex
	said []string
}

// hear runs a check, and returns what it says.
func hear(t *testing.T, check func(t testing.TB)) string {
	h := &heard{TB: t}
	done := make(chan struct{})
	go func() { // which a check can end
		defer close(done)
		check(h)
	}()
	<-done
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.said, "\n")
}

// longer are words that are not for people.
var longer = regexp.MustCompile(`(\S{20})\S{200,}`)

func (h *heard) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, longer.ReplaceAllString(strings.TrimSuffix(text, "\n"), "$1…"))
}

func (h *heard) Helper()                           {}
func (h *heard) Error(args ...any)                 { h.say(fmt.Sprintln(args...)) }
func (h *heard) Errorf(format string, args ...any) { h.say(fmt.Sprintf(format, args...)) }

func (h *heard) Fatal(args ...any) {
	h.Error(args...)
	runtime.Goexit()
}

func (h *heard) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	runtime.Goexit()
}

func (h *heard) Failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.said) > 0
}
