//go:build !race

package openaimodel_test

const raceDetector = false
