// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"testing"

	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	workspacetest.Main() // this executable is a program that tests start
	leaktest.Main(m)
}
