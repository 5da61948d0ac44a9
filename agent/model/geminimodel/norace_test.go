//go:build !race

package geminimodel_test

const raceDetector = false
