// SPDX-License-Identifier: Apache-2.0

//go:build race

package geminimodel_test

// The race detector makes sync.Pool drop items at random, and encoding/json uses it.
const raceDetector = true
