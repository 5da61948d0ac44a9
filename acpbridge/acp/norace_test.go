// SPDX-License-Identifier: Apache-2.0

//go:build !race

package acp_test

const raceEnabled = false
