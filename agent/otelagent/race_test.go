// SPDX-License-Identifier: Apache-2.0

//go:build race

package otelagent_test

// racing says that the race detector is on, under which allocations are not counted.
const racing = true
