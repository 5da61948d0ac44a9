// SPDX-License-Identifier: Apache-2.0

//go:build race

package modelwrap_test

// The race detector makes sync.Pool drop items at random.
const raceDetector = true
