// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestLargeBuffersAreNotKept(t *testing.T) {
	large := acp.TextContent{Text: strings.Repeat("x", 10*acp.MaxPooled)}
	for range 100 {
		_, err := json.Marshal(&large)
		require.NoError(t, err)
		require.LessOrEqual(t, acp.PooledCapacity(), acp.MaxPooled)
	}
}

func TestCallThatWasNotSentIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var problems []string
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{Trace: func(ev acp.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Direction == acp.Received && ev.Kind == acp.KindResponse {
				problems = append(problems, ev.Problem)
			}
		}})
		require.Error(t, p.conn.Call(t.Context(), "_x", json.RawMessage("{"), nil), "no valid JSON")
		p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"no call waits for this answer"}, problems)
	})
}

// readAllocating returns how much memory the lines of a text take to be read, in bytes.
func readAllocating(t *testing.T, text string) uint64 {
	least := uint64(1 << 62)
	for range 5 {
		r := acp.NewLineReader(strings.NewReader(text), 100)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for {
			if _, err := r.Next(); err == io.EOF {
				break
			}
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

func TestLongNamesAndIDsOfALineOverTheLimitAreNotKept(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	short := readAllocating(t, `{"jsonrpc":"2.0","id":7,"method":"`+long+`"}`)
	for name, line := range map[string]string{
		"name":         `{"jsonrpc":"2.0","id":7,"` + long + `":1}`,
		"escaped name": `{"jsonrpc":"2.0","id":7,"` + strings.Repeat(`\n`, 1<<19) + `":1}`,
		"id":           `{"jsonrpc":"2.0","method":"m","id":"` + long + `"}`,
		"number":       `{"jsonrpc":"2.0","method":"m","id":` + strings.Repeat("1", 1<<20) + `}`,
	} {
		assert.Less(t, readAllocating(t, line), short+16<<10, name)
	}
}

// A name is not the end of itself.
func TestLongNameThatEndsLikeAnotherIsNotThatOne(t *testing.T) {
	for n := range 2 << 10 {
		name := strings.Repeat("x", 64<<10-1200+n) + "id"
		_, err := acp.NewLineReader(strings.NewReader(`{"jsonrpc":"2.0","`+name+`":7,"method":"m"}`), 100).Next()
		var got *acp.LongLineError
		require.ErrorAs(t, err, &got)
		require.Equal(t, acp.LongLineError{Limit: 100, Kind: acp.KindNotification}, *got, n)
	}
}
