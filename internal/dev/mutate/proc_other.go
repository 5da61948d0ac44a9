// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import "os/exec"

func runGroup(cmd *exec.Cmd) error { return cmd.Run() }

func limitMemory() []string { return nil }
