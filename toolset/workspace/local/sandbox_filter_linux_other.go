// SPDX-License-Identifier: Apache-2.0

//go:build linux && !amd64 && !arm64

package local

// This processor has no filter.
const arch = 0

var ownChecks, openCalls []callCheck
