//go:build race

package openaimodel_test

// The race detector makes sync.Pool forget at random, and encoding/json with it.
const raceDetector = true
