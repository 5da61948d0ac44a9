// SPDX-License-Identifier: Apache-2.0

//go:build race

package geminimodel_test

// The race detector makes sync.Pool forget at random, and encoding/json with it.
const raceDetector = true
