// SPDX-License-Identifier: Apache-2.0

//go:build !race

package webbridge_test

const raceEnabled = false
