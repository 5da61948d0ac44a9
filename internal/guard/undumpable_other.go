// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package guard

// Undumpable does nothing: this system has no such setting.
func Undumpable() {}
