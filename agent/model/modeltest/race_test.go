// SPDX-License-Identifier: Apache-2.0

//go:build race

package modeltest_test

const raceEnabled = true
