// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names are read as people and servers write them. Each symbol has a name.
func TestNamesAreSplit(t *testing.T) {
	for name, want := range map[string]string{
		"Agent.Run": "Agent Run", "Agent/Run": "Agent Run", "Agent::Run": "Agent Run",
		"(*Agent[D]).Run": "Agent Run",
		"Map<K, V>.get":   "Map get", "run(int)": "run",
		"run(int, List<String>) : void": "run void",
		"(get) value":                   "value", "pkg.(*Agent).Run()": "pkg Agent Run", "operator()": "operator",
		"[Symbol.iterator]":              "Symbol iterator",
		"Observable.[Symbol_observable]": "Observable Symbol_observable",
		"<function>":                     "function", "<anonymous struct>": "anonymousstruct", "": "",
	} {
		require.Equal(t, want, strings.Join(namePath(name), " "), name)
	}
}
