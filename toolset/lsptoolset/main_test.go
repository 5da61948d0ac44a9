// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"os"
	"testing"
	"time"

	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("LSP_FAKE"); mode != "" {
		fakeServer(mode)
		return
	}
	lsptoolset.SetTimes(50*time.Millisecond, 10*time.Millisecond)
	leaktest.Main(m)
}
