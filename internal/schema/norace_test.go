// SPDX-License-Identifier: Apache-2.0

//go:build !race

package schema_test

const raceEnabled = false
