//go:build !race

package modelwrap_test

const raceDetector = false
