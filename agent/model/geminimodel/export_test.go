// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"testing"

	"github.com/ponte-go/ponte/agent/model"
)

// LimitResponses lowers the limit for the size of a response until the test ends.
func LimitResponses(t testing.TB, size int) {
	before := maxResponse
	maxResponse = size
	t.Cleanup(func() { maxResponse = before })
}

// SizeHint is the memory that is set aside for the body of a request.
func SizeHint(req *model.Request) int { return sizeHint(req) }
