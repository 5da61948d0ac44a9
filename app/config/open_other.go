// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package config

// openNoWait is for systems with pipes that have names in directories.
const openNoWait = 0
