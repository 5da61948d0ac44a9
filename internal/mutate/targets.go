// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// A target is a package whose code is changed, and the packages whose tests are run for it, in this order.
type target struct {
	dir   string
	tests []string
}

// targets are the packages that the sample is drawn from.
var targets = []target{
	{"internal/loop", []string{"agent", "internal/engine"}}, // its own test only reads the source
	{"internal/engine", []string{"internal/engine", "agent"}},
	{"agent", []string{"agent", "internal/engine", "toolset", "acpbridge"}},
	{"agent/approval", []string{"agent/approval", "acpbridge"}},
	{"agent/history", []string{"agent/history"}},
	{"agent/journal", []string{"agent/journal", "internal/engine"}},
	{"toolset", []string{"toolset", "toolset/toolsettest", "agent", "acpbridge"}},
	{"internal/schema", []string{"internal/schema", "toolset", "agent"}},
	{"deps", []string{"deps", "acpbridge"}},
	{"acpbridge", []string{"acpbridge"}},
	{"acpbridge/acp", []string{"acpbridge/acp", "acpbridge/acptest", "acpbridge"}},
	{"acpbridge/acptest", []string{"acpbridge/acptest", "acpbridge"}},
}

// testArgs are arguments for the tests of some packages. They keep tests short that repeat something at random.
var testArgs = map[string][]string{
	"agent":           {"-random-runs", "300"},
	"internal/engine": {"-kills", "4"},
}

// minTimeout is the least time that the tests of a package may take before they count as failed. The tests of a package
// that takes long without a mutant may take several times as long.
const minTimeout = 30 * time.Second
