// SPDX-License-Identifier: Apache-2.0

//go:build !race

package modelwrap_test

const raceDetector = false
