// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestContextLengthIsRecognised(t *testing.T) {
	open := func(t testing.TB, url string) model.Model { return open(t, url, "gemini-2.5-flash") }
	adaptertest.ContextLength(t, open, []string{"Google"}, nil)
}
