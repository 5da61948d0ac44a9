// SPDX-License-Identifier: Apache-2.0

//go:build !race

package openaimodel_test

const raceDetector = false
