// SPDX-License-Identifier: Apache-2.0

//go:build race

package engine_test

const raceEnabled = true
