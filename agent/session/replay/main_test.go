// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"testing"

	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
