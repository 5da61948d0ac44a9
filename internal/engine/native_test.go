// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	native "github.com/ponte-go/ponte/internal/engine"
)

func TestIDsOfManyRunsDiffer(t *testing.T) {
	const perRunner = 2000
	var mu sync.Mutex
	seen := map[string]bool{}
	letters := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	var runners sync.WaitGroup
	for range 4 {
		runners.Go(func() {
			for range perRunner {
				b, err := native.New(nil).Begin(t.Context())
				assert.NoError(t, err)
				mu.Lock()
				for _, id := range []string{b.RunID, b.ConversationID} {
					assert.Regexp(t, letters, id)
					assert.False(t, seen[id], id)
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	runners.Wait()
	assert.Len(t, seen, 4*2*perRunner)
}
