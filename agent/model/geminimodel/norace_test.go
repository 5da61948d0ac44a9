// SPDX-License-Identifier: Apache-2.0

//go:build !race

package geminimodel_test

const raceDetector = false
